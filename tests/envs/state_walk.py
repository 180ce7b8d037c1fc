"""A random walk over worlds, each with a plain dict model beside it; every step asks both and compares."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest
from sqlalchemy.exc import InvalidRequestError
from state_model import KEYS, PUBLIC, WEIGHTS, Draft, State, normal, shown, typed
from state_search_model import ranked
from state_service import Article, Lab, Mail
from state_steps import KEY_POOL, make_step, number, phrase, values

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import Fault
from cowork_gym.core.ids import generator
from cowork_gym.core.snapshot import Snapshot
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.database import connect
from cowork_gym.envs.world import Outcome, World

MOST_WORLDS, MOST_SNAPSHOTS = 6, 9
DAY = date(2026, 3, 2)


@dataclass
class Live:
    """A world and what it should be."""

    world: World
    state: State


class Walk:
    """Up to six worlds, nine snapshots, and one random step after another.

    Args:
        seed: Of the walk.
    """

    def __init__(self, seed: int) -> None:
        self.rng = generator(seed, "walk")
        self.counts: Counter[str] = Counter()
        self.prints: dict[Any, str] = {}
        self.chains: dict[Any, str] = {}
        self.kept: list[tuple[Live, Any, Any, Any, Any, dict[str, Any]]] = []
        state = State()
        for table in ("articles", "accounts", "mails"):
            for key in KEY_POOL[table][::2]:
                state.put(table, typed({**values(self.rng, table), KEYS[table]: key}))
        self.blueprint = rebuilt(self.rng, state)
        self.start = state
        self.lives = [Live(World(self.blueprint, seed), replace(state.copy(), seed=seed))]
        self.snapshots: list[tuple[Snapshot, State]] = [(self.blueprint.start, state)]

    def run(self, steps: int) -> None:
        """Take steps; whatever does not agree is an AssertionError."""
        for _ in range(steps):
            [action] = self.rng.choices(list(_ACTIONS), list(_ACTIONS.values()))
            self.counts[action] += 1
            getattr(self, f"_{action}")(self.rng.choice(self.lives))
        for live in self.lives:
            self._fingerprint(live)
            live.world.close()

    def call(self, live: Live, tool: str, arguments: Mapping[str, Any], status: int, outcome: Any, dispatch: str | None = None) -> Outcome:
        """Call, compare with what should come of it, and note it in the model's ledger."""
        found = live.world.call(f"lab_{tool}", arguments, dispatch)
        assert (found.status, normal(found.value), found.replayed) == (status, normal(outcome), False)
        assert normal(decode(found.text)) == normal(outcome)
        assert found.sequence == len(live.state.ledger) + 1
        dispatch = dispatch or f"dispatch_{found.sequence}"
        live.state.ledger += ((dispatch, f"lab_{tool}", normal(arguments), status, normal(outcome)),)
        return found

    def _write(self, live: Live) -> None:
        draft, count = Draft(live.state), self.rng.randint(1, 4)
        steps = []
        for at in range(count):
            steps.append(make_step(self.rng, draft, last=at == count - 1))
            draft.apply(steps[-1])
        arguments, dispatch = {"steps": steps, "end": self.rng.choice(("done", "done", "refuse", "fault"))}, self._dispatch(live)
        if arguments["end"] == "fault":
            with pytest.raises(Fault, match="a defect"):
                live.world.call("lab_run", arguments, dispatch)
        elif arguments["end"] == "refuse":
            self.call(live, "run", arguments, 409, {"error": "refused", "type": "conflict"}, dispatch)
        else:
            self.call(live, "run", arguments, 200, {"made": draft.made}, dispatch)
            draft.state.ledger, live.state = live.state.ledger, draft.state

    def _dispatch(self, live: Live) -> str | None:
        new = f"d{self.rng.randrange(10**9)}"
        return self.rng.choice((None, new)) if all(entry[0] != new for entry in live.state.ledger) else None

    def _repeat(self, live: Live) -> None:
        """A dispatch id that comes again executes nothing; with other arguments it is a conflict."""
        entries = live.world.ledger.entries
        if not entries:
            return
        entry = self.rng.choice(entries)
        again = live.world.call(entry.tool, entry.arguments, entry.dispatch)
        assert again.replayed and (again.status, normal(again.value), again.sequence) == (entry.status, normal(entry.outcome), entry.sequence)
        other = live.world.call("lab_read", {"table": "articles", "key": "another"}, entry.dispatch)
        assert (other.status, other.sequence) == (409, None)

    def _refused(self, live: Live) -> None:
        """What is refused at the door leaves no trace."""
        bad = ({"steps": "x"}, {"steps": [], "more": 1}, {}, {"steps": [{"do": "\ud800"}]}, {"steps": [], "end": 1})
        found = live.world.call(self.rng.choice(("lab_run", "lab_run", "lab_ruin")), self.rng.choice(bad))
        assert found.status in {404, 422} and found.sequence is None

    def _read(self, live: Live) -> None:
        table, key = self._key(live)
        row = live.state.tables[table].get(key)
        orm = self.rng.random() < 0.4
        name = {"articles": "Article", "accounts": "Account", "mails": "Mail"}[table]
        missing = {"error": "not found" if orm else f"{name} {key} not found", "type": "not_found"}
        self.call(live, "read", {"table": table, "key": key, "orm": orm}, 200, missing if row is None else shown(table, row))

    def _key(self, live: Live) -> tuple[str, Any]:
        table = self.rng.choice(("articles", "accounts", "mails"))
        return table, self.rng.choice((*KEY_POOL[table], *live.state.tables[table]))

    def _find(self, live: Live) -> None:
        table, equal, order, rows = "accounts", {}, None, live.state.tables["accounts"]
        if self.rng.random() < 0.3:
            table, rows = "mails", live.state.tables["mails"]
            equal = self.rng.choice(({}, {"is_read": True}, {"sender": "a@x", "is_read": False}, {"subject": None}))
        else:
            spans = ({"minor": [0, 6]}, {"minor": [None, 5], "active": True}, {"minor": [5, None]})
            equal = self.rng.choice(({}, {"owner": None}, {"owner": "ann"}, *spans))
            order = self.rng.choice((None, "owner", "minor", "rate"))
        descending = self.rng.random() < 0.5
        found = [row for row in rows.values() if all(_holds(row[name], value) for name, value in equal.items())]
        found.sort(key=lambda row: row[KEYS[table]])
        by = order or KEYS[table]
        found.sort(key=lambda row: (row[by] is not None, row[by]), reverse=descending)
        arguments = {"table": table, "equal": equal, "order": order, "descending": descending}
        self.call(live, "find", arguments, 200, [shown(table, row) for row in found])

    def _search(self, live: Live) -> None:
        table = self.rng.choice(("articles", "mails"))
        equal = {"is_read": True} if table == "mails" and self.rng.random() < 0.3 else {}
        query, limit = phrase(self.rng, 3), self.rng.choice((1, 3, 50))
        found = ranked(live.state.tables[table], WEIGHTS[table], query, equal)[:limit]
        self.call(live, "search", {"table": table, "query": query, "limit": limit, "equal": equal}, 200, found)

    def _open_mail(self, live: Live) -> None:
        mails = live.state.tables["mails"]
        if mails:
            key = self.rng.choice(sorted(mails))
            self.call(live, "open_mail", {"mail_id": key}, 200, shown("mails", {**mails[key], "is_read": True}))
            mails[key]["is_read"] = True

    def _file(self, live: Live) -> None:
        path = self.rng.choice(("a.txt", "b/c.csv", "证书.md"))
        held = live.state.tables["files"].get(path)
        assert live.world.read_file(path) == (held and held["content"])
        if self.rng.random() < 0.5:
            content = self.rng.choice((b"", "Zürich 证书".encode(), b"\xff\xfe", bytes(range(256))))
            live.world.write_file(path, content)
            live.state.put("files", {"path": path, "content": content})

    def _snapshot(self, live: Live) -> None:
        if len(self.snapshots) == MOST_SNAPSHOTS:
            del self.snapshots[self.rng.randrange(MOST_SNAPSHOTS)]
        self.snapshots.append((live.world.snapshot(), live.state.copy()))

    def _restore(self, live: Live) -> None:
        snapshot, state = self.rng.choice(self.snapshots)
        live.world.restore(snapshot)
        live.state = state.copy()
        self._closed(live)

    def _fork(self, live: Live) -> None:
        """Forks of a world, or a world of its own that begins at some snapshot."""
        if self.rng.random() < 0.5:
            forks = [Live(world, live.state.copy()) for world in live.world.fork(self.rng.randint(1, 2))]
        else:
            snapshot, state = self.rng.choice(self.snapshots)
            forks = [Live(World(self.blueprint, snapshot=snapshot), state.copy())]
        for fork in forks:
            if len(self.lives) == MOST_WORLDS:
                gone = self.lives.pop(self.rng.randrange(MOST_WORLDS))
                gone.world.close()
                self._closed(gone)
            self.lives.append(fork)

    def _close(self, live: Live) -> None:
        """A closed world goes on from where it was."""
        live.world.close()
        self._closed(live)

    def _fingerprint(self, live: Live) -> None:
        """Equal fingerprints if and only if the models are equal."""
        content, found = live.state.content(), live.world.fingerprint()
        assert self.prints.setdefault(content, found) == found
        assert len({*self.prints.values()}) == len(self.prints)

    def _rebuild(self, live: Live) -> None:
        """The fingerprint of a world that was filled with the same values in another order and spelling."""
        assert World(rebuilt(self.rng, live.state)).fingerprint() == live.world.fingerprint()

    def _diff(self, live: Live) -> None:
        snapshot, state = self.rng.choice([*self.snapshots, (None, self.start)])
        found = [(one.table, one.key, *(None if side is None else normal(side) for side in (one.before, one.after)))
                 for one in live.world.diff(snapshot)]
        assert found == live.state.differences(state)

    def _rows(self, live: Live) -> None:
        for name, public in PUBLIC.items():
            rows = live.state.tables[name]
            assert normal(live.world.rows(public)) == normal({str(key): shown(name, row) for key, row in rows.items()})
            assert [*live.world.rows(public)] == [str(key) for key in sorted(rows)]

    def _keep(self, live: Live) -> None:
        self.call(live, "keep", {}, 200, {})
        store, session, row, cursor = Lab.kept.pop()
        first = min(live.state.tables["accounts"], default=None)
        self.kept.append((live, store, session, row, cursor, dict(live.state.tables["accounts"].get(first, {}))))
        with pytest.raises(RuntimeError, match="over"):
            store.find(Article)
        with pytest.raises(InvalidRequestError, match="closed"):
            session.get(Mail, "m0é")

    def _closed(self, live: Live) -> None:
        """A world has closed its database: what calls left behind is useless, and the values that they read stay."""
        mine = [one for one in self.kept if one[0] is live]
        self.kept = [one for one in self.kept if one[0] is not live]
        for _, _, session, row, cursor, expected in mine:
            with pytest.raises(sqlite3.ProgrammingError):
                cursor.fetchall()
            with pytest.raises(InvalidRequestError, match="closed"):
                session.get(Mail, "m0é")
            assert row is None or normal({name: getattr(row, name) for name in expected}) == normal(expected)

    def _ledger(self, live: Live) -> None:
        """The chain is whole, says what was done, and its hash stands for that alone."""
        ledger = live.world.ledger
        assert ledger.verify() and len(ledger) == len(live.state.ledger)
        found = tuple((one.dispatch, one.tool, normal(one.arguments), one.status, normal(one.outcome)) for one in ledger)
        assert found == live.state.ledger
        assert self.chains.setdefault(found, ledger.hash) == ledger.hash
        assert len({*self.chains.values()}) == len(self.chains)

    def _integrity(self, live: Live) -> None:
        connection = connect(live.world.snapshot().image)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for model in (Article, Mail):
            name = f"{model.__table__.name}_fts"
            connection.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
        connection.close()


def rebuilt(rng: Any, state: State) -> Blueprint:
    """A blueprint with the model's rows as fixtures: rows, columns and JSON keys in any order, numbers in any spelling."""
    records = {}
    for table in ("articles", "accounts", "mails"):
        rows = [_fixture(rng, table, row) for row in state.tables[table].values()]
        rng.shuffle(rows)
        records[table] = rows
    files = {path: row["content"] for path, row in state.tables["files"].items()}
    return Blueprint.build([Lab], {"lab": records}, files, start=DAY)


def _fixture(rng: Any, table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in row.items() if name != "extra" and not (value is None and rng.random() < 0.5)}
    fields |= {name: _respelled(rng, value) for name, value in (row["extra"] or {}).items()}
    if table == "articles" and "tags" in fields:
        fields["tags"] = _respelled(rng, fields["tags"])
    if table == "accounts":
        fields["balance"] = decode(number(fields["balance"], rng))
    if table == "mails":
        fields["from"] = fields.pop("sender")
    items = [*fields.items()]
    rng.shuffle(items)
    return dict(items)


def _respelled(rng: Any, value: Any) -> Any:
    """An equal JSON value with numbers of other types and keys in another order."""
    if isinstance(value, Mapping):
        items = [(key, _respelled(rng, item)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [_respelled(rng, item) for item in value]
    return value if isinstance(value, str | bool) or value is None else decode(number(value, rng))


def _holds(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, list):
        return found == wanted
    low, high = wanted
    return (low is None or found >= low) and (high is None or found <= high)


_ACTIONS = {
    "write": 38, "repeat": 4, "refused": 1, "read": 8, "find": 5, "search": 8, "open_mail": 2, "file": 2, "snapshot": 5, "restore": 5, "fork": 3,
    "close": 2, "fingerprint": 8, "rebuild": 1, "diff": 4, "rows": 1, "keep": 2, "ledger": 2, "integrity": 1,
}

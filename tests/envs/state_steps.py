"""Random steps for the state's test: what one writing call does, valid for the state that its draft has reached."""

import json
import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from state_model import COLUMNS, KEYS, Draft

WORDS = (
    "alpha", "beta", "Beta", "rotate", "Rotation", "rotating", "keys", "key", "policies", "hopping", "relational", "Zürich", "zurich", "café",
    "Ångström", "naïve", "can't", "a-b", "AND", "NOT", 'say "hi"', "x*", "title:beta", "33",
    "3.5%", "(open", "😀", "Москва", "证书", "证书过期", "SSL证书", "过期", "的", "、", "サーバー", "エラー", "ログイン", "로그인", "오류", "인증서",
)
BALANCES = ("33.00", "33", "-0.10", "-0.1", "1E+1", "10", "0.12345678901234567890", "12345678901234.1234567891", "0")
LEAVES = (33, 33.0, Decimal("33.00"), 0.1, Decimal("0.10"), 1, 1.0, True, None, "文", "", -2, 1e3, 1000)
KEY_POOL: Mapping[str, tuple[Any, ...]] = {
    "articles": tuple(f"A-{n}" for n in range(9)), "accounts": tuple(range(-2, 7)), "mails": tuple(f"m{n}é" for n in range(6)),
}


def phrase(rng: random.Random, most: int = 4) -> str:
    """Some words of several languages, with or without spaces between them."""
    return "".join(rng.choice(WORDS) + rng.choice((" ", " ", "", "\n")) for _ in range(rng.randint(1, most)))


def tree(rng: random.Random, depth: int = 2) -> Any:
    """A JSON value."""
    kind = rng.random() if depth else 0
    if kind < 0.5:
        return rng.choice(LEAVES)
    if kind < 0.75:
        return [tree(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {name: tree(rng, depth - 1) for name in rng.sample(("a", "b", "é", "z"), rng.randint(0, 3))}


def spelled(value: Any, rng: random.Random) -> str:
    """JSON text in one of its many spellings."""
    gap = rng.choice(("", " ", "\n"))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if isinstance(value, Mapping):
        items = [*value.items()]
        rng.shuffle(items)
        return "{" + f",{gap}".join(f"{json.dumps(key)}:{gap}{spelled(item, rng)}" for key, item in items) + "}"
    if isinstance(value, list):
        return f"[{gap}" + f",{gap}".join(spelled(item, rng) for item in value) + "]"
    return number(value, rng)


def number(value: int | float | Decimal, rng: random.Random) -> str:
    """A number in one of its many spellings."""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    plain = format(exact, "f")
    padded = plain + ("00" if "." in plain else ".0")
    return rng.choice((plain, padded, f"{exact:e}", f"{padded}E0"))


def values(rng: random.Random, table: str, columns: tuple[str, ...] | None = None) -> dict[str, Any]:
    """New values for columns (all but the key), in JSON form."""
    makers: dict[str, Callable[[], Any]] = {
        "extra": lambda: rng.choice((None, {"hint": tree(rng)}, {"vip": True, "hint": tree(rng, 1)})),
        "title": lambda: phrase(rng), "body": lambda: rng.choice((None, phrase(rng, 9))), "subject": lambda: rng.choice((None, phrase(rng))),
        "tags": lambda: rng.choice((None, [tree(rng) for _ in range(rng.randint(0, 3))])), "owner": lambda: rng.choice((None, "ann", "Bob", "çelik")),
        "balance": lambda: rng.choice(BALANCES), "rate": lambda: rng.choice((0.5, 33.0, 0.001, 1 / 3, -0.0)),
        "minor": lambda: rng.choice((0, 5, 5, 7, -3, 2**40)), "active": lambda: rng.random() < 0.5, "is_read": lambda: rng.random() < 0.5,
        "sender": lambda: rng.choice(("a@x", "b@x")),
    }
    names = [name for name in COLUMNS[table] if name in makers and (columns is None or name in columns)]
    return {name: makers[name]() for name in names}


def some(rng: random.Random, table: str) -> dict[str, Any]:
    """New values for a few columns."""
    names = [name for name in COLUMNS[table] if name != KEYS[table]]
    return values(rng, table, tuple(rng.sample(names, rng.randint(1, 3))))


def stored(rng: random.Random, row: Mapping[str, Any]) -> dict[str, Any]:
    """Values as raw SQL writes them, JSON in any spelling."""
    raw = {name: int(value) if isinstance(value, bool) else value for name, value in row.items()}
    for name in sorted(raw.keys() & {"extra", "tags"}):
        raw[name] = None if raw[name] is None else spelled(raw[name], rng)
    return raw


def make_step(rng: random.Random, draft: Draft, *, last: bool) -> dict[str, Any]:
    """A step that is valid now."""
    table = rng.choice(("articles", "articles", "accounts", "accounts", "mails"))
    rows, pool, name = draft.state.tables[table], KEY_POOL[table], KEYS[table]
    free = [key for key in pool if key not in rows]
    taken = sorted(rows)
    do = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if (do in {"insert", "orm_add"} and not free) or (do in _NEEDS_ROW and not taken):
        do = "upsert"
    step: dict[str, Any] = {"do": do, "table": table, "flush": not last or rng.random() < 0.7}
    if do in {"insert", "orm_add"}:
        row = values(rng, table) if rng.random() < 0.5 else {k: v for k, v in values(rng, table).items() if k == "title"}
        return step | {"values": {**row, name: rng.choice(free)}}
    if do in {"replace", "upsert"}:
        return step | {"values": stored(rng, {**values(rng, table), name: rng.choice(pool)})}
    if do == "failed_flush":
        return step | {"values": {**values(rng, table), name: rng.choice(taken)}}
    if do == "new":
        return step | {"prefix": rng.choice(("K", "L")), "values": values(rng, "mails")}
    if do == "bulk":
        return step | {"by": rng.choice((0, 1)), "below": rng.choice((0, 6))}
    return step | (_on_row(rng, do, table, rng.choice(taken), free) if taken else {})


def _on_row(rng: random.Random, do: str, table: str, key: Any, free: list[Any]) -> dict[str, Any]:
    """The rest of a step that changes one row."""
    new = some(rng, table)
    if free and rng.random() < 0.25:
        new[KEYS[table]] = rng.choice(free)
    if do != "raw_update":
        return {"key": key, "values": new}
    conflict = rng.choice(("", "OR FAIL", "OR IGNORE", "OR REPLACE"))
    if conflict in {"OR IGNORE", "OR REPLACE"} and rng.random() < 0.5:
        new[KEYS[table]] = rng.choice(KEY_POOL[table])
    return {"key": key, "conflict": conflict, "values": stored(rng, new)}


_WEIGHTS = {
    "insert": 10, "update": 10, "delete": 5, "new": 2, "replace": 6, "upsert": 6, "raw_update": 10, "bulk": 2, "wipe": 0.3, "orm_add": 5,
    "orm_change": 5, "orm_delete": 3, "sa_update": 4, "session_commit": 3, "session_rollback": 2, "failed_flush": 2, "commit": 2, "rollback": 2,
}
_NEEDS_ROW = {"update", "delete", "raw_update", "orm_change", "orm_delete", "sa_update", "failed_flush"}

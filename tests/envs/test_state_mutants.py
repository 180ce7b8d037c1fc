"""The random test is worth something: each defect below, put into the code, is found within 2,000 steps."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from state_walk import Walk

from cowork_gym.core.canonical import canonical
from cowork_gym.core.errors import Fault
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.snapshot import Digests
from cowork_gym.envs import blueprint, database, world
from cowork_gym.mock_services.kit import store, tables

Patch = pytest.MonkeyPatch
STEPS, SEED = 2000, 5
FOUND = (AssertionError, Fault, TypeError, sqlite3.Error, pytest.fail.Exception)


def _ddl_without(patch: Patch, change: Callable[[str], str]) -> None:
    written = tables.Table.ddl

    def ddl(self: tables.Table) -> Iterator[str]:
        yield from filter(None, map(change, written(self)))

    patch.setattr(tables.Table, "ddl", ddl)


def _without_old_mark(patch: Patch, trigger: str) -> None:
    def change(text: str) -> str:
        marked = text.startswith("CREATE TRIGGER") and f"_{trigger} AFTER" in text
        return text if not marked else text.replace("old.rowid);", "-1);", 1)

    _ddl_without(patch, change)


def no_recursive_triggers(patch: Patch) -> None:
    written = database.connect

    def connect(image: bytes | None = None) -> sqlite3.Connection:
        connection = written(image)
        connection.execute("PRAGMA recursive_triggers=OFF")
        return connection

    patch.setattr(database, "connect", connect)


def update_marks_only_the_new_rowid(patch: Patch) -> None:
    _without_old_mark(patch, "update")


def delete_marks_nothing(patch: Patch) -> None:
    _without_old_mark(patch, "delete")


def index_not_updated(patch: Patch) -> None:
    _ddl_without(patch, lambda text: "" if "_text AFTER UPDATE" in text else text)


def index_updated_only_with_its_columns(patch: Patch) -> None:
    """A new integer key is a new rowid; here keys are text, so what breaks is the second column."""
    _ddl_without(patch, lambda text: text.replace("title, body ON", "title ON") if "_text AFTER UPDATE" in text else text)


def words_not_stemmed(patch: Patch) -> None:
    _ddl_without(patch, lambda text: text.replace("porter ", ""))


def _on_execute(patch: Patch, spelled: str, instead: str) -> None:
    def execute(self: sqlite3.Connection, text: str, *rest: Any) -> sqlite3.Cursor:
        return sqlite3.Connection.execute(self, instead if text == spelled else text, *rest)

    patch.setattr(database._Connection, "execute", execute, raising=False)


def commit_instead_of_rollback(patch: Patch) -> None:
    _on_execute(patch, "ROLLBACK", "COMMIT")


def calls_not_committed(patch: Patch) -> None:
    _on_execute(patch, "COMMIT", "SELECT 1")


def one_mark_a_table_is_read(patch: Patch) -> None:
    _on_execute(patch, "SELECT tab, row FROM _dirty", "SELECT tab, min(row) FROM _dirty GROUP BY tab")


def commits_of_sqlalchemy_pass(patch: Patch) -> None:
    patch.setattr(database._Connection, "commit", sqlite3.Connection.commit)
    patch.setattr(database._Connection, "rollback", sqlite3.Connection.rollback)


def hashes_not_restored(patch: Patch) -> None:
    written = world.World.restore

    def restore(self: world.World, snapshot: Any) -> None:
        kept = self._database.known() if self._database else snapshot.digests
        written(self, replace(snapshot, digests=kept))

    patch.setattr(world.World, "restore", restore)


def stale_image_reused(patch: Patch) -> None:
    patch.setattr(database.Database, "image", lambda self: self._image)


def ledger_not_restored(patch: Patch) -> None:
    written = world.World.restore

    def restore(self: world.World, snapshot: Any) -> None:
        written(self, replace(snapshot, ledger=self._ledger))

    patch.setattr(world.World, "restore", restore)


def forks_share_a_database(patch: Patch) -> None:
    written = world.World.fork

    def fork(self: world.World, n: int = 1) -> list[world.World]:
        self.rows("lab.mails")
        forks = written(self, n)
        for one in forks:
            one._database = self._database
        return forks

    patch.setattr(world.World, "fork", fork)


def text_not_spaced_in_queries(patch: Patch) -> None:
    patch.setattr(tables, "spaced", lambda text: text or "")


def text_not_spaced_in_the_index(patch: Patch) -> None:
    patch.setattr(database, "spaced", lambda text: text or "")


def json_not_respelled(patch: Patch) -> None:
    patch.setattr(tables, "respell", canonical)


def _select_without(patch: Patch, change: Callable[[str], str]) -> None:
    written = tables.Table.select

    def select(self: tables.Table, *args: Any) -> tuple[str, list[Any]]:
        text, values = written(self, *args)
        return change(text), values

    patch.setattr(tables.Table, "select", select)


def no_order_by_key(patch: Patch) -> None:
    _select_without(patch, lambda text: text.partition("ORDER BY")[0])


def null_never_equal(patch: Patch) -> None:
    _select_without(patch, lambda text: text.replace(" IS ?", " = ?"))


def repeated_dispatch_runs_again(patch: Patch) -> None:
    patch.setattr(Ledger, "find", lambda self, dispatch: None)


def counters_outside_the_transaction(patch: Patch) -> None:
    numbers: dict[tuple[int, str], int] = {}

    def new_id(self: store.Store, prefix: str) -> str:
        at = (self.moment.seed, prefix)
        numbers[at] = numbers.get(at, 0) + 1
        return store.seeded_id(self.moment.seed, prefix, numbers[at])

    patch.setattr(store.Store, "new_id", new_id)


def old_sessions_live_on(patch: Patch) -> None:
    def end(self: store.Store) -> None:
        if "session" in vars(self):
            self.session.rollback()
        self._open = None

    patch.setattr(store.Store, "end", end)


def stores_live_on(patch: Patch) -> None:
    patch.setattr(store.Store, "end", lambda self: None)


def diff_forgets_deleted_rows(patch: Patch) -> None:
    written = database.differences
    patch.setattr(world, "differences", lambda before, after: tuple(one for one in written(before, after) if one.after is not None))


def fingerprint_depends_on_order(patch: Patch) -> None:
    def fresh(rows: dict[int, bytes], table: str) -> Digests:
        return Digests(rows, hashlib.sha256(b"".join(rows.values())).hexdigest())

    patch.setattr(database, "Digests", fresh)


def decimals_kept_as_numbers(patch: Patch) -> None:
    patch.setattr(blueprint, "Table", _FloatTable)


class _FloatTable(tables.Table):
    """A table whose decimals go through doubles."""

    def _bound(self, shape: Any, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
        return super()._bound(shape, {name: float(one) if name == "=balance" else one for name, one in values.items()})


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    no_recursive_triggers, update_marks_only_the_new_rowid, delete_marks_nothing, index_not_updated, index_updated_only_with_its_columns,
    words_not_stemmed, commit_instead_of_rollback, calls_not_committed, one_mark_a_table_is_read, commits_of_sqlalchemy_pass,
    hashes_not_restored, stale_image_reused, ledger_not_restored, forks_share_a_database, text_not_spaced_in_queries,
    text_not_spaced_in_the_index, json_not_respelled, no_order_by_key, null_never_equal, repeated_dispatch_runs_again,
    counters_outside_the_transaction, old_sessions_live_on, stores_live_on, diff_forgets_deleted_rows, fingerprint_depends_on_order,
    decimals_kept_as_numbers,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_a_defect_is_found(mutant, monkeypatch):
    monkeypatch.setattr(blueprint, "_lay_out", blueprint._lay_out.__wrapped__)  # tables of its own, laid out with the defect
    mutant(monkeypatch)
    with pytest.raises(FOUND):
        Walk(SEED).run(STEPS)

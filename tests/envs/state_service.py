"""A service that does to its tables whatever a handler may do: Core statements, ORM sessions, raw SQL, and worse."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from cowork_gym.mock_services.kit import Effect, ErrorKind, Exact, Field, Json, Record, Service, Span, ToolError, tool
from cowork_gym.mock_services.kit.store import Store


class Article(Record, table=True):
    searched: ClassVar[Mapping[str, float]] = {"title": 4.0, "body": 1.0}
    article_id: str = Field(primary_key=True)
    title: str
    body: str | None = None
    tags: list[Any] | None = Field(default=None, sa_type=Json)


class Account(Record, table=True):
    account_id: int = Field(primary_key=True)
    owner: str | None = None
    balance: Decimal = Field(default=Decimal(0), sa_type=Exact)
    rate: float = 0.0
    minor: int = 0
    active: bool = True


class Mail(Record, table=True):
    collection: ClassVar[str] = "mails"
    wire: ClassVar[Mapping[str, str]] = {"sender": "from"}
    searched: ClassVar[Mapping[str, float]] = {"subject": 1.0}
    mail_id: str = Field(primary_key=True)
    sender: str = ""
    subject: str | None = None
    is_read: bool = False


MODELS: dict[str, type[Record]] = {model.collection: model for model in (Article, Account, Mail)}
Step = Mapping[str, Any]


class Lab(Service):
    name = "lab"
    tables = (Article, Account, Mail)
    kept: ClassVar[list[tuple[Store, Any, Any, Any]]] = []
    """What a careless handler keeps of its call: store, session, ORM object, half-read cursor."""

    @tool(Effect.WRITE)
    def run(self, steps: list[dict[str, Any]], end: str = "done") -> dict[str, Any]:
        """Carry out steps, then end well or badly."""
        made = [OPERATIONS[step["do"]](self.store, step) for step in steps]
        if end == "refuse":
            raise ToolError("refused", ErrorKind.CONFLICT)
        if end == "fault":
            raise ZeroDivisionError("a defect")
        return {"made": [one for one in made if one is not None]}

    @tool(Effect.READ)
    def read(self, table: str, key: str | int, orm: bool = False) -> dict[str, Any]:
        """One record."""
        model = MODELS[table]
        if not orm:
            return model.shown(self.store.get(model, key))
        row = self.store.session.get(model, key)
        if row is None:
            raise ToolError("not found", ErrorKind.NOT_FOUND)
        return model.shown(self.store.peek(model, getattr(row, model.key_column())))

    @tool(Effect.READ)
    def find(self, table: str, equal: dict[str, Any], order: str | None = None, descending: bool = False) -> list[dict[str, Any]]:
        """Records with these values; a pair is a range."""
        model = MODELS[table]
        spans = {name: Span(*value) if isinstance(value, list) else value for name, value in equal.items()}
        return [model.shown(row) for row in self.store.find(model, order=order, descending=descending, **spans)]

    @tool(Effect.READ)
    def search(self, table: str, query: str, limit: int = 10, equal: dict[str, Any] | None = None) -> list[str]:
        """Keys of the records that match, best first."""
        model = MODELS[table]
        return [getattr(row, model.key_column()) for row in self.store.search(model, query, limit, **(equal or {}))]

    @tool(Effect.READ, marks=["is_read"])
    def open_mail(self, mail_id: str) -> dict[str, Any]:
        """A mail; it counts as read from now on."""
        return Mail.shown(self.store.update(Mail, mail_id, is_read=True))

    @tool(Effect.READ)
    def keep(self) -> dict[str, Any]:
        """Keep what should not outlive the call."""
        cursor = self.store.connection.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT number FROM _counters")
        cursor.fetchone()
        row = self.store.session.scalars(sa.select(Account).order_by(Account.account_id)).first()
        self.kept.append((self.store, self.store.session, row, cursor))
        return {}


def _typed(values: Step) -> dict[str, Any]:
    """Column values from their JSON form: decimals come as text, and any fraction as a decimal."""
    casts = {"balance": Decimal, "rate": float}
    return {name: casts[name](value) if name in casts else value for name, value in values.items()}


def _raw(values: Step) -> list[Any]:
    """Values as SQLite takes them."""
    return [float(value) if isinstance(value, Decimal) else value for value in values.values()]


def _target(step: Step) -> tuple[type[Record], str, str]:
    model = MODELS[step["table"]]
    return model, model.__table__.name, model.key_column()


def _insert(store: Store, step: Step) -> None:
    store.insert(MODELS[step["table"]], **_typed(step["values"]))


def _update(store: Store, step: Step) -> None:
    store.update(MODELS[step["table"]], step["key"], **_typed(step["values"]))


def _delete(store: Store, step: Step) -> None:
    store.delete(MODELS[step["table"]], step["key"])


def _new(store: Store, step: Step) -> str:
    key = store.new_id(step["prefix"])
    store.insert(Mail, mail_id=key, **step["values"])
    return key


def _raw_write(store: Store, step: Step) -> None:
    """INSERT OR REPLACE, or an upsert; values as SQLite stores them."""
    _, name, key = _target(step)
    columns = ", ".join(step["values"])
    marks = ", ".join("?" * len(step["values"]))
    rest = ", ".join(f"{column} = excluded.{column}" for column in step["values"])
    text = f"INSERT INTO {name} ({columns}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {rest}"
    if step["do"] == "replace":
        text = f"INSERT OR REPLACE INTO {name} ({columns}) VALUES ({marks})"
    store.connection.execute(text, _raw(step["values"]))


def _raw_update(store: Store, step: Step) -> None:
    _, name, key = _target(step)
    sets = ", ".join(f"{column} = ?" for column in step["values"])
    store.connection.execute(f"UPDATE {step['conflict']} {name} SET {sets} WHERE {key} = ?", [*_raw(step["values"]), step["key"]])


def _bulk(store: Store, step: Step) -> None:
    store.connection.execute(f"UPDATE {Account.__table__.name} SET minor = minor + ? WHERE minor <= ?", (step["by"], step["below"]))


def _wipe(store: Store, step: Step) -> None:
    store.connection.execute(f"DELETE FROM {_target(step)[1]}")


def _orm_add(store: Store, step: Step) -> None:
    store.session.expunge_all()
    store.session.add(MODELS[step["table"]].model_validate(_typed(step["values"])))
    _flush(store, step)


def _orm_change(store: Store, step: Step) -> None:
    store.session.expunge_all()
    row = store.session.get(MODELS[step["table"]], step["key"], populate_existing=True)
    for name, value in _typed(step["values"]).items():
        setattr(row, name, value)
    _flush(store, step)


def _orm_delete(store: Store, step: Step) -> None:
    store.session.expunge_all()
    store.session.delete(store.session.get(MODELS[step["table"]], step["key"], populate_existing=True))
    _flush(store, step)


def _flush(store: Store, step: Step) -> None:
    if step["flush"]:
        store.session.flush()


def _sa_update(store: Store, step: Step) -> None:
    model, _, key = _target(step)
    statement = sa.update(model).where(getattr(model, key) == step["key"]).values(**_typed(step["values"]))
    store.session.execute(statement.execution_options(synchronize_session=False))


def _session_commit(store: Store, step: Step) -> None:
    store.session.commit()


def _session_rollback(store: Store, step: Step) -> None:
    store.session.rollback()


def _failed_flush(store: Store, step: Step) -> None:
    store.session.expunge_all()
    store.session.add(MODELS[step["table"]].model_validate(_typed(step["values"])))
    try:
        store.session.flush()
    except IntegrityError:
        store.session.rollback()
    else:
        raise AssertionError("the flush was to fail")


def _commit(store: Store, step: Step) -> None:
    store.connection.commit()


def _rollback(store: Store, step: Step) -> None:
    store.connection.rollback()


OPERATIONS: dict[str, Callable[[Store, Step], Any]] = {
    "insert": _insert, "update": _update, "delete": _delete, "new": _new, "replace": _raw_write, "upsert": _raw_write, "raw_update": _raw_update,
    "bulk": _bulk, "wipe": _wipe, "orm_add": _orm_add, "orm_change": _orm_change, "orm_delete": _orm_delete, "sa_update": _sa_update,
    "session_commit": _session_commit, "session_rollback": _session_rollback, "failed_flush": _failed_flush, "commit": _commit, "rollback": _rollback,
}

"""Column types that keep what SQLite would round, and the one place that knows the dialect."""

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from cowork_gym.core.canonical import canonical, decode

__all__ = ["ENGINE", "Blob", "Caseless", "Exact", "Json", "Labels", "quoted", "respell"]

ENGINE = sa.create_engine("sqlite://", poolclass=StaticPool)
"""Lends its dialect to every table and world; holds no data."""
ENGINE.connect().close()
_NAMES = ENGINE.dialect.identifier_preparer
_NAMES.reserved_words = {*_NAMES.reserved_words, "nothing", "returning"}  # keywords that SQLAlchemy's list lacks


def quoted(name: str) -> str:
    """A name as SQL takes it, whether or not it is a keyword or has other characters than letters; spelled as SQLAlchemy spells it."""
    return _NAMES.quote(name)


class Blob(sa.TypeDecorator[bytes]):
    """Bytes as they are. Agents read JSON: a record with such a column overrides `shown`."""

    impl, cache_ok = sa.LargeBinary, True


class Json(sa.TypeDecorator[Any]):
    """JSON as text. A column declared `JSON` has numeric affinity in SQLite, which rounds bare numbers."""

    impl, cache_ok = sa.Text, True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """The value as canonical text."""
        return None if value is None else canonical(value)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        """The text as a value, fractions as decimals."""
        return None if value is None else decode(value)


class Exact(Json):
    """A decimal as text. SQL orders it as text: where SQL must compare, store integer minor units."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Any) -> Decimal | None:
        """The text as a decimal."""
        return None if value is None else Decimal(value)


class Labels(Json):
    """A set of texts, kept sorted and without repetitions: two orders of the same labels are one state."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """The set as canonical text."""
        return super().process_bind_param(None if value is None else sorted(set(value)), dialect)


class Caseless(sa.TypeDecorator[str]):
    """A text that is kept as it was written and found in any case (of the letters a to z)."""

    impl, cache_ok = sa.String(collation="NOCASE"), True


@lru_cache(65536)
def respell(text: str) -> str:
    """JSON text in canonical spelling, whoever wrote it."""
    return canonical(json.loads(text, parse_float=Decimal))

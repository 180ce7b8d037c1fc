"""What a field of a noise record may be made by: names, sentences, amounts, days, ids. All of it follows from the seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from cowork_gym.core.clock import parse_time
from cowork_gym.envs.variation.fakes import CHINESE, ENGLISH, fake
from cowork_gym.envs.variation.identifiers import Form, Pool
from cowork_gym.envs.variation.parts import changed
from cowork_gym.envs.variation.rewriter import Rewriter
from cowork_gym.graders.matchers import show
from cowork_gym.graders.numerals import exact

__all__ = ["MAKERS", "Source"]


@dataclass(frozen=True)
class Source:
    """What records of noise are made of."""

    generator: Random
    locale: str
    rewriter: Rewriter
    pool: Pool
    forms: Mapping[str, Form]
    """The form of ids by their prefix."""

    def ask(self, what: str, *arguments: Any) -> str:
        """What Faker says."""
        return fake(self.locale, what, self.generator.getrandbits(32), *arguments)


def _prefix(value: Any) -> str:
    if not isinstance(value, str) or not value or value[-1].isdigit():
        raise ValueError(f"expected what an id begins with, such as TCK, not {show(value)}")
    return value


def _yes(value: Any) -> bool:
    if value is not True:
        raise ValueError(f"expected true, not {show(value)}")
    return True


def _length(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= 200:
        raise ValueError(f"expected a number of words from 1 to 200, not {show(value)}")
    return value


def _choices(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of one value or more, not {show(value)}")
    return value


def _bounds(read: Callable[[Any], Any], example: str) -> Callable[[Any], Any]:
    def bounds(value: Any) -> Any:
        try:
            low, high = map(read, value if isinstance(value, list) else ())
            if low <= high:
                return value
        except (ArithmeticError, TypeError, ValueError):
            pass
        raise ValueError(f"expected two values in order, such as {example}, not {show(value)}")

    return bounds


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _money(value: Any) -> Decimal:
    number = exact(Decimal(value) if isinstance(value, str) else value)
    if number is None:
        raise TypeError
    return number


def _make_id(prefix: str, source: Source) -> str:
    return source.pool.fresh(source.forms[prefix])


def _make_person(_: Any, source: Source) -> str:
    return source.ask("name") if source.locale == CHINESE else f"{source.ask('first_name')} {source.ask('last_name')}"


def _make_email(_: Any, source: Source) -> str:
    user, domain = (fake(ENGLISH, what, source.generator.getrandbits(32)) for what in ("user_name", "domain_word"))
    return f"{user}@{domain}.example"


def _make_amount(bounds: Sequence[Any], source: Source) -> Decimal:
    low, high = (Decimal(str(one)) for one in bounds)
    unit = Decimal(1).scaleb(min(int(low.as_tuple().exponent), int(high.as_tuple().exponent), 0))
    return source.generator.randint(int(low / unit), int(high / unit)) * unit


def _make_date(bounds: Sequence[str], source: Source) -> str:
    low, high = (date.fromisoformat(source.rewriter.text(one)) for one in bounds)
    return (low + timedelta(days=source.generator.randint(0, (high - low).days))).isoformat()


def _make_time(bounds: Sequence[str], source: Source) -> str:
    low, high = (parse_time(source.rewriter.text(one)) for one in bounds)
    moment = low + timedelta(minutes=source.generator.randint(0, (high - low) // timedelta(minutes=1)))
    return moment.replace(second=0, microsecond=0, tzinfo=None).isoformat() + "Z"


MAKERS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any, Source], Any]]] = {
    "amount": (_bounds(_money, '["10.00", "80.00"]'), _make_amount),
    "company": (_yes, lambda _, source: source.ask("company")),
    "date": (_bounds(date.fromisoformat, "[2026-03-01, 2026-03-09]"), _make_date),
    "email": (_yes, _make_email),
    "id": (_prefix, _make_id),
    "integer": (_bounds(_whole, "[1, 9]"), lambda bounds, source: source.generator.randint(*bounds)),
    "one_of": (_choices, lambda choices, source: changed(source.generator.choice(choices), source.rewriter.scalar)),
    "person": (_yes, _make_person),
    "sentence": (_length, lambda words, source: source.ask("sentence", words)),
    "time": (_bounds(parse_time, "[2026-03-01T08:00:00Z, 2026-03-09T18:00:00Z]"), _make_time),
}
"""What a field of a template may be made by: how it is read, and how it is made."""

"""All names of a package at once: which parts vary, what takes their place, and how they are written then."""

import re
import string
from collections.abc import Callable, Mapping

from cowork_gym.core.errors import PackageError
from cowork_gym.core.ids import generator
from cowork_gym.envs.variation.fakes import CHINESE, ENGLISH, fake
from cowork_gym.envs.variation.names import Kind, Pairs, ascii_word, joined_pairs, latin_words, word_pairs
from cowork_gym.envs.variation.names_chinese import chinese_pairs, chinese_words, is_chinese

__all__ = ["Naming"]

_FITS = {
    "first_name": re.compile(r"[A-Z][a-z]{2,}|[\u4e00-\u9fff]{1,2}"), "last_name": re.compile(r"[A-Z][a-z]{2,}|[\u4e00-\u9fff]"),
    "company_prefix": re.compile(r"[\u4e00-\u9fff]{2,4}"),
}
_TRIES, _DRAWS = 20, 500
_SIGNS = string.ascii_uppercase
_PLAIN = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*|[\u4e00-\u9fff]+")


class Naming:
    """What of the names varies. A word that several names share is one: look-alikes go on sharing it.

    Args:
        names: The names, each with what it is of.
    """

    def __init__(self, names: Mapping[str, Kind]) -> None:
        self.names = dict(sorted(names.items()))
        self._parts = {name: _parts(name, kind) for name, kind in self.names.items()}
        self._asked: dict[str, tuple[str, str]] = {}
        for parts in self._parts.values():
            for key, locale, what in parts.values():
                self._asked.setdefault(key, (locale, what))

    def meanings(self) -> Pairs:
        """Every text that is looked for, with something that two of them share only if they always vary alike."""
        yield from self.pairs({key: f"{_SIGNS[at % len(_SIGNS)]}{at}" for at, key in enumerate(self._asked)})

    def texts(self, name: str) -> set[str]:
        """Every text that a name may be found by."""
        only = Naming({name: self.names[name]})
        return {text for text, _ in only.meanings()}

    def words(self, name: str) -> list[str]:
        """The parts of a name that vary alone."""
        return [part for part in self._parts[name] if " " not in part]

    def pairs(self, new: Mapping[str, str]) -> Pairs:
        """Every text that is looked for, and what takes its place.

        Args:
            new: What takes the place of each part.
        """
        for written, key in {written: key for parts in self._parts.values() for written, (key, *_) in parts.items()}.items():
            if not is_chinese(written) and " " not in written:
                yield from word_pairs(written, new[key])
        for name, kind in self.names.items():
            own = {written: new[key] for written, (key, *_) in self._parts[name].items()}
            if is_chinese(name):
                yield from chinese_pairs(name, kind, own)
            elif kind.whole:
                yield name, own[name]
            else:
                yield from joined_pairs(name, kind, own)

    def draw(self, seed: int, task: str, taken: Callable[[str], bool]) -> dict[str, str]:
        """What takes the place of each part.

        Args:
            seed: The seed.
            task: The task's id.
            taken: Whether a text stands somewhere in the package.

        Raises:
            PackageError: There are no names left.
        """
        for attempt in range(_TRIES):
            new = dict[str, str]()
            for key, (locale, what) in self._asked.items():
                numbers = generator(seed, task, "names", key, attempt)
                asked = (fake(locale, what, numbers.getrandbits(32)) for _ in range(_DRAWS))
                new[key] = next((one for one in asked if self._is_new(one, what, new, taken)), "")
            if all(new.values()) and not any(taken(text) for old, text in self.pairs(new) if is_chinese(old) and old in self.names):
                return new
        raise PackageError("private/variation.yaml", "names", "Faker has no names left that the package does not have: declare fewer")

    def _is_new(self, text: str, what: str, others: Mapping[str, str], taken: Callable[[str], bool]) -> bool:
        if not _FITS.get(what, _PLAIN).fullmatch(text) or text in others.values() or text in self._asked:
            return False
        return (is_chinese(text) and what in ("first_name", "last_name")) or not taken(text)


def _parts(name: str, kind: Kind) -> dict[str, tuple[str, str, str]]:
    """The parts of a name that vary, each with what it is known by, and the locale and kind of its successor."""
    if is_chinese(name):
        return {part: (part, CHINESE, what) for part, what in chinese_words(name, kind).items()}
    if kind.whole:
        return {name: (name, ENGLISH, "city" if kind is Kind.CITY else "street_name")}
    return {word: (ascii_word(word), ENGLISH, what) for word, what in latin_words(name, kind).items()}

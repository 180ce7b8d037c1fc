"""What a user knows and how they answer, as `private/dialogue.yaml` says it. `consistency` sees whether it can be played."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, StrictBool, StrictInt, StringConstraints

from cowork_gym.envs.dialogue.phrases import Language, Manner, Phrases, language_of, phrases
from cowork_gym.envs.dialogue.private import PrivateField
from cowork_gym.envs.dialogue.spelling import is_visible, mentions, simplify
from cowork_gym.graders.checks.check import Clause, MatcherField
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import SchemaVersion

__all__ = ["Correction", "Dialogue", "Fact", "Persona", "Statement", "When"]


def _spoken(text: str) -> str:
    if not simplify(text) or not is_visible(text):
        raise ValueError(f"expected a text all of which can be seen, not {show(text)}")
    return text.strip()


def _read_group(value: Any) -> tuple[str, ...]:
    group = value if isinstance(value, list | tuple) else [value]
    if not group or not all(isinstance(one, str) and simplify(one).strip("*-_ ") for one in group):
        raise ValueError(f"expected a phrase, or a list of phrases all of which must be there, not {show(value)}")
    return tuple(group)


Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$")]
Spoken = Annotated[str, StringConstraints(max_length=1000), AfterValidator(_spoken)]
"""Something that the user says."""
Group = Annotated[tuple[str, ...], PlainValidator(_read_group)]
"""Phrases all of which a question must have; written as a phrase when it is one."""


class Persona(Clause):
    """Who the user is."""

    name: Annotated[str, StringConstraints(max_length=80), AfterValidator(_spoken)]
    manner: Manner = Manner.BRIEF


class Statement(Clause):
    """Something that the user says once, word for word."""

    id: Id
    says: Spoken


class Fact(Statement):
    """What the user may tell."""

    asks: tuple[Group, ...] = ()
    """What a question has that asks for it: one of these."""
    after: tuple[str, ...] = ()
    """Facts that must have been told in earlier replies."""
    volunteered: StrictBool = False
    """Whether it comes unasked with the first reply that may have it."""

    def is_asked_by(self, text: str) -> bool:
        """Whether a simplified text has one of the groups of phrases."""
        return any(all(mentions(text, phrase) for phrase in group) for group in self.asks)


class When(Clause):
    """When a correction comes; one of the two."""

    replies: Annotated[StrictInt, Field(ge=2)] | None = None
    """With this reply, or a later one."""
    after: str | None = None
    """With the reply that tells this fact."""


class Correction(Statement):
    """What takes back a fact that was told in an earlier reply."""

    of: str
    when: When


class Dialogue(Clause):
    """A user: persona, facts and limits."""

    schema_version: SchemaVersion
    persona: Persona
    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]
    corrections: tuple[Correction, ...] = ()
    private: tuple[PrivateField, ...] = ()
    """What is never said."""
    closing: MatcherField | None = None
    """The message that is the final answer whatever else it says."""
    patience: Annotated[StrictInt, Field(ge=1, le=100)] = 8
    """The most replies."""
    per_reply: Annotated[StrictInt, Field(ge=1, le=10)] = 2
    """The most facts that one question gets."""
    unknown: Spoken | None = None
    vague: Spoken | None = None
    impatient: Spoken | None = None

    @cached_property
    def language(self) -> Language:
        """The language of the facts."""
        return language_of(one.says for one in self.facts)

    @cached_property
    def phrases(self) -> Phrases:
        """What the user says when there is nothing to tell."""
        usual = phrases(self.language, self.persona.manner)
        return Phrases(self.unknown or usual.unknown, self.vague or usual.vague, usual.again, self.impatient or usual.impatient)

    @cached_property
    def told_by(self) -> Mapping[str, str]:
        """What is said to tell each fact and correction, by id."""
        return {one.id: one.says for _, one in self.statements()}

    def statements(self) -> Iterator[tuple[str, Statement]]:
        """Every fact and correction with its place in the file, such as `facts[2] (delivery_date)`."""
        for kind, entries in (("facts", self.facts), ("corrections", self.corrections)):
            for index, one in enumerate(entries):
                yield f"{kind}[{index}] ({one.id})", one

    def spoken(self) -> Iterator[tuple[str, str]]:
        """Every text that the user may say, with its place in the file; the usual ones follow from the persona's manner."""
        yield "persona.name", self.persona.name
        for where, one in self.statements():
            yield f"{where}.says", one.says
        own = self.model_fields_set
        for name, text in self.phrases._asdict().items():
            yield name if name in own else "persona.manner", text

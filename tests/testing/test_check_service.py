"""The conformance suite of services: it passes ours, and it catches each way in which a service can break its promises."""

from random import Random
from typing import Annotated, Any, ClassVar, Literal, cast

import pytest
from pydantic import AfterValidator
from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.mock_services.kit import Effect, ErrorKind, Field, Record, Service, ToolError, View, given, tool
from cowork_gym.testing import check_service

TASKS = [load_task(name) for name in ("M1003", "M1100", "M133")]
RECORDS = {name: records for task in TASKS for name, records in task.world.items()}
TODAY = max(task.mock_today for task in TASKS)


class Note(Record, table=True):
    """A note."""

    note_id: str = Field(primary_key=True)
    text: str
    is_read: bool = False


NOTES = {"notes": [{"note_id": "N-1", "text": "one"}, {"note_id": "N-2", "text": "two"}]}


class Notes(Service):
    """Notes that can be read and written."""

    name = "notes"
    tables: ClassVar = [Note]

    @tool(Effect.READ, marks=["is_read"])
    def get(self, note_id: str) -> dict[str, Any]:
        """Get a note, which marks it as read."""
        self.store.get(Note, note_id)
        return Note.shown(self.store.update(Note, note_id, is_read=True))

    @tool(Effect.WRITE, audit="added")
    def add(self, text: str, mood: Literal["good", "bad"] = "good") -> dict[str, Any]:
        """Add a note."""
        if mood == "bad":
            raise ToolError("not in this mood", ErrorKind.CONFLICT)
        note = Note.shown(self.store.insert(Note, note_id=self.store.new_id("N"), text=text))
        self.audit(note)
        return note


def _breaks(service: type[Service], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_service(service, NOTES)


@pytest.mark.parametrize("name", [*REGISTRY.services()])
@pytest.mark.parametrize("with_records", [True, False])
def test_the_services_that_come_with_the_package_conform(name: str, with_records: bool) -> None:
    check_service(REGISTRY.services()[name], RECORDS.get(name) if with_records else None, start=TODAY, rounds=8)


def test_a_good_service_conforms_with_any_seed() -> None:
    for seed in range(5):
        check_service(Notes, NOTES, seed=seed)


def test_records_that_do_not_fit_are_the_callers_mistake() -> None:
    with pytest.raises(PackageError, match="did you mean 'notes'"):
        check_service(Notes, {"note": []})


def test_a_handler_that_fails_is_named_with_its_call() -> None:
    class Failing(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> dict[str, Any]:
            """Get a note."""
            return {"text": self.store.peek(Note, note_id).text}

    _breaks(Failing, r"notes_get\({\"note_id\":.*\): the handler failed: AttributeError")


def test_a_handler_that_depends_on_the_process_is_found_out() -> None:
    class Forgetful(Notes):
        calls: ClassVar[list[str]] = []

        @tool(Effect.READ)
        def get(self, note_id: str) -> dict[str, Any]:
            """Get a note."""
            self.calls.append(note_id)
            return {"calls": len(self.calls)}

    _breaks(Forgetful, "the same seed and calls came to different results")


def test_a_reader_that_writes_is_found_out() -> None:
    class Sly(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> dict[str, Any]:
            """Get a note."""
            self.store.update(Note, "N-1", text="changed")
            return {}

    _breaks(Sly, "notes_get.*the handler failed: RuntimeError: a reading tool may set no columns")


def test_a_reader_that_goes_around_the_store_is_found_out() -> None:
    class Slyer(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> dict[str, Any]:
            """Get a note."""
            self.store.connection.execute(f"UPDATE {Note.__tablename__} SET text = text || '!' WHERE note_id = 'N-1'")
            return {}

    _breaks(Slyer, "notes_get.*the handler failed: RuntimeError: a reading tool wrote")


def test_a_writer_that_forgets_its_audit_record_is_found_out() -> None:
    class Careless(Notes):
        @tool(Effect.WRITE, audit="added")
        def add(self, text: str) -> dict[str, Any]:
            """Add a note."""
            return Note.shown(self.store.insert(Note, note_id=self.store.new_id("N"), text=text))

    _breaks(Careless, "notes_add.*audit")


def test_a_schema_that_promises_too_much_is_found_out() -> None:
    def even(number: int) -> int:
        if number % 2:
            raise ValueError("should be even")
        return number

    class Picky(Notes):
        @tool(Effect.READ)
        def get(self, number: Annotated[int, AfterValidator(even)]) -> dict[str, Any]:
            """Get a note."""
            return {}

    _breaks(Picky, "notes_get: argument 'number' should be even; the schema allows this")


def test_a_pattern_without_examples_cannot_be_checked() -> None:
    class Patterned(Notes):
        @tool(Effect.READ)
        def get(self, code: Annotated[str, Bounds(pattern=r"^[A-Z]{3}$")]) -> dict[str, Any]:
            """Get a note."""
            return {}

    _breaks(Patterned, "notes_get: .*give it `examples`")


class Renamed(Record, table=True):
    """A note whose mark has another name for agents."""

    collection: ClassVar[str] = "notes"
    wire: ClassVar[dict[str, str]] = {"is_read": "seen"}
    note_id: str = Field(primary_key=True)
    is_read: bool = False


def test_a_mark_is_known_by_the_name_that_agents_see() -> None:
    class Aliased(Service):
        """Notes."""

        name = "aliased"
        tables: ClassVar = [Renamed]

        @tool(Effect.READ, marks=["is_read"])
        def get(self, note_id: str) -> View:
            """Get a note, which marks it as read."""
            return Renamed.shown(self.store.update(Renamed, note_id, is_read=True))

    check_service(Aliased, {"notes": [{"note_id": "N-1"}, {"note_id": "N-2", "seen": True}]})


def test_a_result_that_breaks_its_annotation_is_found_out() -> None:
    class Shape(TypedDict):
        text: str

    class Loose(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> Shape:
            """Get a note."""
            return cast(Shape, {"text": "t", "surplus": 1})

    class Unreadable(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> Random:
            """Get a note."""
            return self.random()

    _breaks(Loose, "notes_get.*the result does not fit the return annotation.*surplus")
    _breaks(Unreadable, "notes: a tool's definition cannot be read: .*Random")


class Listing(Notes):
    """Notes that can be listed."""

    @tool(Effect.READ)
    def find(self, text: str | None = None, most: Annotated[int, Bounds(ge=1, le=500)] = 50, unread: bool = False) -> dict[str, Any]:
        """List notes.

        Args:
            text: Only notes with this text.
            most: How many to list at most.
            unread: Only notes that were not read.
        """
        rows = self.store.find(Note, **given(text=self._only(text), is_read=False if unread else None))
        return {"notes": [Note.shown(row) for row in rows[: self._cut(most)]]}

    def _only(self, text: str | None) -> str | None:
        return text

    def _cut(self, most: int) -> int:
        return most


def test_an_optional_argument_without_effect_is_found_out() -> None:
    class Deaf(Listing):
        def _only(self, text: str | None) -> str | None:
            return None

    class Endless(Listing):
        def _cut(self, most: int) -> int:
            return 50

    for seed in range(3):
        check_service(Listing, NOTES, rounds=5, seed=seed)
    check_service(Deaf)
    _breaks(Deaf, r"notes_find: the argument 'text' made no difference in \d+ calls; give it an effect .* say `no effect`")
    _breaks(Endless, "notes_find: the argument 'most' made no difference")


def test_an_argument_may_say_that_it_has_no_effect() -> None:
    class Frank(Notes):
        @tool(Effect.READ)
        def find(self, locale: str | None = None) -> dict[str, Any]:
            """List notes.

            Args:
                locale: Has no effect; other mailboxes have it.
            """
            return {"notes": [Note.shown(row) for row in self.store.find(Note)]}

    check_service(Frank, NOTES, rounds=5)


@pytest.mark.parametrize(("hint", "default", "problem"), [
    (Any, object(), "the default of argument 'of' is no value of JSON"), (int, "x", "the default of argument 'of': input should be a valid integer"),
    (str, None, "the default of argument 'of': input should be a valid string"),
])
def test_a_default_is_one_that_the_tool_takes(hint: Any, default: Any, problem: str) -> None:
    def find(self: Service, text: str, of: Any = default) -> dict[str, Any]:
        """Find."""
        return {"text": text, "of": of}

    find.__annotations__["of"] = hint
    _breaks(type("Odd", (Notes,), {"__doc__": "Notes.", "find": tool(Effect.READ)(find)}), problem)


def test_definitions_are_looked_at_first() -> None:
    class Silent(Notes):
        @tool(Effect.READ)
        def get(self, note_id: str) -> dict[str, Any]:
            return {}

    class Shouting(Notes):
        """Notes."""

        name = "Notes!"

    class Idle(Service):
        """Nothing."""

        name = "idle"

    Silent.__doc__ = "Notes."
    _breaks(Silent, "notes_get has no docstring")
    _breaks(Shouting, "Shouting: `name` must be")
    _breaks(Idle, "idle: the service has no tools")
    Idle.__doc__ = None
    _breaks(Idle, "idle: the service has no docstring")

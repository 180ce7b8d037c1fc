"""The tool that shows a skill's instructions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import ErrorKind, ToolError, nearest
from cowork_gym.harness.inner.tool import HarnessTool
from cowork_gym.harness.parts import check_names
from cowork_gym.harness.skills import Skill

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["ReadSkill"]


@dataclass(frozen=True, slots=True)
class ReadSkill(HarnessTool):
    """Shows a skill by its name.

    Raises:
        UserError: Two skills have the same name.
    """

    skills: tuple[Skill, ...]
    name: ClassVar[str] = "read_skill"

    def __post_init__(self) -> None:
        check_names([one.name for one in self.skills], "skills")

    @property
    def schema(self) -> Mapping[str, Any]:
        """The tool in OpenAI's form."""
        names = {"type": "string", "enum": [one.name for one in self.skills]}
        parameters = {"type": "object", "properties": {"name": names}, "required": ["name"], "additionalProperties": False}
        return {"type": "function", "function": {"name": self.name, "description": "Read the instructions of a skill.", "parameters": parameters}}

    def manifest(self) -> Mapping[str, Any]:
        """The name: the skills stand in the manifest themselves."""
        return {"name": self.name}

    def answer(self, run: "LiveRun", arguments: Mapping[str, Any], dispatch: str) -> str:
        """The instructions."""
        name, found = arguments.get("name"), {one.name: one for one in self.skills}
        if set(arguments) != {"name"} or not isinstance(name, str):
            raise ToolError("read_skill takes exactly a name", ErrorKind.VALIDATION)
        if name not in found:
            raise ToolError(f"no skill {name[:80]!r}, {nearest(name, found)}", ErrorKind.VALIDATION)
        return encode({"name": name, "instructions": found[name].text})

"""Agents by name: what one writes after `--agent`, as a policy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.core.ledger import Effect
from cowork_gym.core.messages import final
from cowork_gym.core.task import Execution, Task
from cowork_gym.envs.executions import read_script
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.policies.local import local_policy
from cowork_gym.harness.policies.openai import OpenAIPolicy
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.random_agent import RandomPolicy
from cowork_gym.harness.policies.read_everything import ReadEverythingPolicy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.policies.served import served_policy
from cowork_gym.harness.policies.smol import SmolPolicy
from cowork_gym.harness.policies.spray import SprayPolicy

__all__ = ["AGENTS", "make_agent"]

ToolFormat = Literal["native", "prompted"]

AGENTS = {
    "reference": "the task's first reference execution, worth 1.0; reference:NAME for another",
    "negative:NAME": "a negative execution of the task",
    "noop": "an empty answer at once",
    "text-only": "a confident answer at once, without any work",
    "read-everything": "reads all that there is and changes nothing",
    "random": "random valid calls; half of the ids are ones that it has seen",
    "spray": "every tool with every id that it has seen",
    "script:FILE": "the execution in a YAML or JSON file, with `turns` and `final`",
    "openai:MODEL@BASE_URL": "a model behind an OpenAI-compatible server; the key comes from OPENAI_API_KEY",
    "local:PATH": "a model of this machine through transformers; PATH+ADAPTER with a LoRA adapter, local:smollm2 for SmolLM2-135M-Instruct",
    "sglang:MODEL@URL": "a model behind an SGLang server, token by token; MODEL is the folder with its tokenizer",
    "vllm:MODEL@URL": "the same behind a vLLM server",
    "smol": "SmolLM2-135M-Instruct in this process; `make smol` installs it",
}
"""How agents are written, and what each of them is."""

_CONFIDENT = "Done. I checked all the records, made the requested changes and verified the result; nothing is left to do."


def make_agent(spec: str, task: Task, *, tool_format: ToolFormat = "native", sampling: Sampling | None = None) -> Policy:
    """The agent that a person means.

    Args:
        spec: One of `AGENTS`.
        task: What it will play. Only scripted agents see its private half.
        sampling: For `local`, `sglang` and `vllm`: how tokens are drawn.
        tool_format: For `openai`: `native`, or `prompted` for servers and models without a tool format.

    Raises:
        UserError: There is no such agent, execution or file, or the agent lacks what comes after its colon.
        MissingExtra: The agent needs something that is not installed.
    """
    kind, colon, value = spec.partition(":")
    if kind == "openai":
        return _openai(value, tool_format)
    if kind in _DRAWN and value:
        return _DRAWN[kind](value, sampling)
    if kind in _WITH_VALUE and (value or kind == "reference"):
        return _WITH_VALUE[kind](task, value)
    if kind in _ALONE and not colon:
        return _ALONE[kind](task)
    written = next((one for one in AGENTS if one.partition(":")[0] == kind), None)
    raise UserError(f"unknown agent {spec!r}, {nearest(spec, AGENTS) if written is None else f'write it as {written}'}")


def _reference(task: Task, name: str) -> Policy:
    first = task.references[0].name if task.references else ""
    return ScriptedPolicy(f"reference:{name}" if name else "reference", _named(task, "reference", task.references, name or first).actions)


def _negative(task: Task, name: str) -> Policy:
    return ScriptedPolicy(f"negative:{name}", _named(task, "negative", task.negatives, name).actions)


def _named(task: Task, kind: str, executions: Sequence[Execution], name: str) -> Execution:
    found = {one.name: one for one in executions}
    if name not in found:
        raise UserError(f"{task.id} has no {kind} {name!r}, {nearest(name, found)}")
    return found[name]


def _script(task: Task, file: str) -> Policy:
    execution = read_script(file)
    return ScriptedPolicy(f"script:{execution.name}", execution.actions)


def _read_everything(task: Task) -> Policy:
    tools = blueprint_of(task, REGISTRY.services()).tools
    return ReadEverythingPolicy([name for name, door in tools.items() if door.tool.effect is Effect.READ], task.budgets)


def _openai(value: str, tool_format: ToolFormat) -> Policy:
    model, at, url = value.rpartition("@")
    if not (model and at and url):
        raise UserError("write the agent as openai:MODEL@BASE_URL, such as openai:qwen3@http://127.0.0.1:8000/v1")
    return OpenAIPolicy(model, url, tool_format=tool_format)


def _local(value: str, sampling: Sampling | None) -> Policy:
    path, plus, adapter = value.rpartition("+")
    return local_policy(path if plus else value, adapter=adapter or None if plus else None, sampling=sampling)


def _served(kind: Literal["sglang", "vllm"]) -> "Callable[[str, Sampling | None], Policy]":
    def made(value: str, sampling: Sampling | None) -> Policy:
        model, at, url = value.rpartition("@")
        if not (model and at and url):
            raise UserError(f"write the agent as {kind}:MODEL@URL, such as {kind}:models/qwen3@http://127.0.0.1:8000")
        return served_policy(kind, model, url, sampling=sampling)

    return made


_DRAWN: Mapping[str, Callable[[str, Sampling | None], Policy]] = {"local": _local, "sglang": _served("sglang"), "vllm": _served("vllm")}
_WITH_VALUE: Mapping[str, Callable[[Task, str], Policy]] = {"reference": _reference, "negative": _negative, "script": _script}
_ALONE: Mapping[str, Callable[[Task], Policy]] = {
    "noop": lambda task: ScriptedPolicy("noop", [final("")]),
    "text-only": lambda task: ScriptedPolicy("text-only", [final(_CONFIDENT)]),
    "read-everything": _read_everything,
    "random": lambda task: RandomPolicy(),
    "spray": lambda task: SprayPolicy(task.budgets),
    "smol": lambda task: SmolPolicy(),
}

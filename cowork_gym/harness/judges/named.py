"""Judges by name: what one writes after `--judge`."""

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.graders.judge import Judge
from cowork_gym.harness.judges.model import ModelJudge

__all__ = ["JUDGES", "make_judge"]

JUDGES = {"openai:MODEL@BASE_URL": "a model behind an OpenAI-compatible server; the key comes from OPENAI_API_KEY"}
"""How judges are written, and what each of them is."""


def make_judge(spec: str) -> Judge:
    """The judge that a person means.

    Args:
        spec: One of `JUDGES`.

    Raises:
        UserError: There is no such judge, or it lacks its model or address.
        MissingExtra: The judge needs something that is not installed.
    """
    kind, _, value = spec.partition(":")
    if kind != "openai":
        raise UserError(f"unknown judge {spec!r}, {nearest(spec, JUDGES)}")
    model, _, url = value.rpartition("@")
    if not (model and url):
        raise UserError("write the judge as openai:MODEL@BASE_URL, such as openai:qwen3@http://127.0.0.1:8000/v1")
    return ModelJudge(model, url)

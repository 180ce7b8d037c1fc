"""The judge that asks an OpenAI-compatible server, by the frozen prompt of `graders.judge`. What is no strict verdict is asked for once more."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.graders.judge import PROMPT, Opinion, Question
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.policies.chat import ChatClient
from cowork_gym.harness.policies.completion import BrokenAnswer, Completion
from cowork_gym.harness.policies.conversation import sound

__all__ = ["ModelJudge"]

_ANSWERS = 2


class _Verdict(BaseModel):
    """The form of an answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    level: Annotated[int, Field(ge=0)]
    reason: Annotated[str, StringConstraints(pattern=r"\S")]


class ModelJudge:
    """A model that judges, at temperature 0; the vote is the seed.

    Args:
        model: The model's name at that server, and the judge's.
        base_url: Such as `http://127.0.0.1:8000/v1`.
        api_key: By default the environment's OPENAI_API_KEY; a server on this machine needs none.
        max_tokens: The most that one answer may have, thoughts included.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.

    Raises:
        MissingExtra: The `openai` library is not installed.
        UserError: The address is none, or a key is needed.
    """

    def __init__(
        self, model: str, base_url: str, *, api_key: str | None = None, max_tokens: int = 2048, timeout: float = 120, retries: int = 3,
    ) -> None:
        self.name = model
        self._client = ChatClient(model, base_url, api_key=api_key, temperature=0, max_tokens=max_tokens, timeout=timeout, retries=retries)

    def ask(self, question: Question, vote: int) -> Opinion:
        """The model's verdict, from one request, or from two where the first answer was none.

        Raises:
            Fault: The server failed, or both answers are no verdict.
        """
        chat = [{"role": "system", "content": PROMPT.rules}, {"role": "user", "content": question.prompt}]
        problem = ""
        for _ in range(_ANSWERS):
            completion = self._complete(chat, vote)
            try:
                return _read(completion, len(question.scale) - 1)
            except ValueError as error:
                problem = str(error)
            chat += [{"role": "assistant", "content": sound(completion.text)}, {"role": "user", "content": PROMPT.reminder}]
        raise self._fault(f"no verdict in {_ANSWERS} answers: {problem}")

    def _complete(self, chat: list[dict[str, str]], vote: int) -> Completion:
        try:
            return self._client.ask(chat, seed=vote)
        except BrokenAnswer as error:
            raise self._client.fault(str(error)) from None
        except ContextFull:
            raise self._fault("the question does not fit into the model's context") from None
        except UserError as error:  # an episode that was played is kept, and can be graded again
            raise self._fault(str(error)) from None

    def _fault(self, text: str) -> Fault:
        return Fault(Blame.GRADER, f"judge {self.name}", text)


def _read(completion: Completion, top: int) -> Opinion:
    """The opinion in an answer.

    Raises:
        ValueError: There is none.
    """
    if completion.broken_off:
        raise ValueError(completion.broken_off)
    try:
        verdict = _Verdict.model_validate_json(completion.message.content or "")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(": ".join([*map(str, first["loc"]), first["msg"]])) from None
    if verdict.level > top:
        raise ValueError(f"level: {verdict.level} is not on the scale from 0 to {top}")
    return Opinion(verdict.level, verdict.reason)

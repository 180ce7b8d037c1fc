"""Components of anybody's making around a policy: each of its calls is recorded once, and a component's mistake is the harness's fault."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import Blame, UserError
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, ToolCall, call, final
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import Purpose, RewriteKind, Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Action, Policy, Usage, compose, play
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.inner.delegate import Delegate
from cowork_gym.harness.inner.tool import HarnessTool
from cowork_gym.harness.middleware import Middleware
from cowork_gym.harness.policies.policy import Draw

TASK = load_task("M1003")
READ, LAST = call("helpdesk_list_tickets"), final("done")


class Counting(Policy):
    """Samples one id a call, each of them once; its prompts are one id a message. What is no action is raised."""

    name, tokenizer = "counting", "t" * 64

    def __init__(self, *answers: Any) -> None:
        self._answers = answers
        self._draws: list[Draw] = []

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._draws, self._said, self.draw, self.usage = [], list[Message](), Draw(), Usage()

    def act(self, history: Sequence[Message]) -> Action:
        answer = self._answers[min(len(self._draws), len(self._answers) - 1)]
        if isinstance(answer, Exception):
            raise answer
        mine = [one for one in history if one.role == "assistant"]
        fresh = not mine or [one.content for one in mine] != [one.content for one in self._said[: len(mine)]]
        given = len(history) if fresh else len(history) - 1 - max(at for at, one in enumerate(history) if one.role == "assistant")
        tokens = Tokens(tuple(range(given)), (1000 + len(self._draws),), (-0.5,), (True,))
        self.draw, self.usage = Draw("stop", "1", tokens, fresh), Usage(len(history), 1)
        self._draws.append(self.draw)
        self._said = [*mine, answer]
        return answer


@dataclass(frozen=True)
class Around(Middleware):
    """Asks as a function of the call and the question tells."""

    around: Callable[[int, Callable[[], Action]], Action] = field(repr=False, compare=False)
    name: ClassVar[str] = "around"

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def ask(self, run: Any, purpose: Purpose, ask: Callable[[], Action]) -> Action:
        return self.around(run.last + 1, ask)


def _played(policy: Policy, *middleware: Middleware, **parts: Any) -> Episode:
    return play(CoworkEnv(TASK), policy, harness=compose(middleware=middleware, **parts), seed=0)


def _sampled(episode: Episode, *, trained: bool) -> list[int]:
    return [
        id for run in episode.runs for segment in run.segments for one in segment.generations if one.tokens and not (trained and segment.audit)
        for id, mask in zip(one.tokens.ids, one.tokens.mask, strict=True) if mask or not trained
    ]


def _whole(episode: Episode, folder: Path) -> None:
    pytest.importorskip("pyarrow")
    assert contradiction_of_runs(episode) is None and episode.fault is None
    assert read_episode(write_episode(episode, folder)) == episode


def test_a_component_that_asks_twice_discards_the_first_answer(tmp_path: Path) -> None:
    def twice(at: int, ask: Callable[[], Action]) -> Action:
        ask()
        return ask()

    episode = _played(Counting(READ, READ, final("first"), LAST), Around(twice))
    one, two, three, four = episode.runs[0].generations
    assert [each.kept for each in (one, two, three, four)] == [False, True, False, True] and one.reason == three.reason == "asked again"
    assert (one.said.tool_calls[0].name, three.said.content, episode.answer) == ("helpdesk_list_tickets", "first", "done")
    assert _sampled(episode, trained=False) == [1000, 1001, 1002, 1003] and _sampled(episode, trained=True) == [1001, 1003]
    assert episode.turns[-1].tokens == 2
    _whole(episode, tmp_path)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_a_component_answers_itself_is_nobodys_sample(at: int, tmp_path: Path) -> None:
    episode = _played(Counting(READ, READ, READ, LAST), Around(lambda now, ask: call("helpdesk_list_views") if now == at else ask()))
    own = episode.runs[0].generations[at]
    assert (own.tokens, own.version, own.said.tool_calls[0].name, own.turn) == (None, "", "helpdesk_list_views", at)
    segments = episode.runs[0].segments
    (audited,) = [one for one in segments if one.audit]
    assert own in audited.generations and audited.audit == "a component of the harness answered, not the policy"
    assert _sampled(episode, trained=True) == [1000, 1001, 1002, 1003]
    assert at == 0 or [one.rewrite.kind for one in segments if one.audit] == [RewriteKind.UNEXPLAINED]
    _whole(episode, tmp_path)


def test_an_answer_that_a_component_changes_is_discarded(tmp_path: Path) -> None:
    def changed(at: int, ask: Callable[[], Action]) -> Action:
        action = ask()
        return final("better") if action == final("worse") else action

    episode = _played(Counting(READ, final("worse")), Around(changed))
    read, sampled, own = episode.runs[0].generations
    assert (read.kept, sampled.kept, sampled.reason, own.tokens, episode.answer) == (True, False, "a component changed it", None, "better")
    assert _sampled(episode, trained=True) == [1000]
    _whole(episode, tmp_path)


@dataclass(frozen=True)
class Stops(Middleware):
    """Ends each run at once."""

    how: Any
    name: ClassVar[str] = "stops"

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def stop(self, run: Any) -> Any:
        return self.how


@pytest.mark.parametrize("how", [Ending.FAULT, Ending.FINAL, "nonsense", 7, True])
def test_no_component_ends_a_run_by_what_is_not_its_to_say(how: object) -> None:
    episode = _played(Counting(LAST), Stops(how))
    assert (episode.fault.blame, episode.fault.where, episode.grade.reward) == (Blame.HARNESS, "stops", None)


def test_a_component_ends_a_run_by_a_budget() -> None:
    assert _played(Counting(LAST), Stops(Ending.COST)).ending is Ending.COST


@dataclass(frozen=True)
class Shows(Middleware):
    """Shows something else than what came back."""

    what: tuple[Message, ...]
    name: ClassVar[str] = "shows"

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def show(self, run: Any, turn: Turn, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return self.what


@pytest.mark.parametrize("what", [(), (Message("user", "x"),), (Message("tool", "{}", (), "a", "b"),) * 2])
def test_a_component_shows_as_much_as_came_back(what: tuple[Message, ...]) -> None:
    episode = _played(Counting(READ, LAST), Shows(what))
    assert (episode.fault.blame, episode.fault.where, len(episode.turns)) == (Blame.HARNESS, "shows", 1)


class Mute(HarnessTool):
    """Answers with nothing."""

    name, schema = "mute", {"type": "function", "function": {"name": "mute", "description": "", "parameters": {"type": "object"}}}

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def answer(self, run: Any, arguments: Mapping[str, Any], dispatch: str) -> Any:
        return None


def test_a_tool_of_the_harness_answers_with_a_text() -> None:
    episode = _played(Counting(Message("assistant", None, (ToolCall("mute", {}),)), LAST), tools=[Mute()])
    assert (episode.fault.blame, episode.fault.where) == (Blame.HARNESS, "mute")


class Unready(Counting):
    """Fails where nothing is sampled yet."""

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        raise ContextFull("the tools alone are too long")


class Barren(Counting):
    """Fails where it is to have a child."""

    def spawn(self) -> Policy:
        raise KeyError("no child")


@pytest.mark.parametrize("policy, parts, told", [
    (Unready(LAST), {}, "full where nothing is sampled"), (Barren(LAST), {"tools": [Delegate()]}, "KeyError: 'no child'"),
    (Counting(ContextFull("x")), {}, ""),
])
def test_what_fails_around_the_answers_is_quarantined(policy: Policy, parts: Mapping[str, Any], told: str, tmp_path: Path) -> None:
    episode = _played(policy, **parts)
    if not told:
        assert episode.ending is Ending.CONTEXT
        return
    assert episode.fault.blame is Blame.HARNESS and told in episode.fault.message and episode.grade.reward is None
    assert read_episode(write_episode(episode, tmp_path)) == episode


class Odd(Counting):
    """Gives another thing in one place."""

    def __init__(self, **odd: Any) -> None:
        super().__init__(LAST)
        self._odd = odd

    def act(self, history: Sequence[Message]) -> Action:
        answer = super().act(history)
        for name, value in self._odd.items():
            setattr(self, name, value)
        return answer


@pytest.mark.parametrize("odd, told", [
    ({"draw": Draw("stop", None)}, "draw.version is of type NoneType"), ({"draw": Draw(3)}, "draw.finish is of type int"),
    ({"draw": Draw(flaw=b"")}, "draw.flaw is of type bytes"), ({"draw": None}, "draw is of type NoneType"),
    ({"draw": Draw(tokens=((1,), (2,), (-1.0,), (True,)))}, "draw.tokens is of type tuple"), ({"usage": (1, 2)}, "usage is of type tuple"),
    ({"usage": Usage(1, -1)}, "usage.completion_tokens is -1, below 0"), ({"usage": Usage("1", 1)}, "usage.prompt_tokens is of type str"),
])
def test_a_policy_that_breaks_the_protocol_is_a_fault_of_the_harness(odd: Mapping[str, Any], told: str) -> None:
    episode = _played(Odd(**odd))
    assert (episode.fault.blame, episode.fault.where, episode.turns) == (Blame.HARNESS, "counting", ()) and told in episode.fault.message


def test_a_policy_without_a_name_is_not_played() -> None:
    policy = Counting(LAST)
    policy.name = 7
    with pytest.raises(UserError, match="a policy's name is a text, not 7"):
        _played(policy)


@dataclass(frozen=True)
class Listed(Middleware):
    """Has a manifest of its own."""

    manifests: Any
    name: ClassVar[str] = "listed"

    def manifest(self) -> Any:
        return self.manifests


@pytest.mark.parametrize("manifest, told", [
    ({"name": "listed", 1: 2}, "a key that is not a string"), ({"name": {1, 2}}, "set"), ({"x": float("nan")}, "nan, which is not a number"),
])
def test_a_manifest_that_no_file_can_hold_is_refused_before_anything_is_played(manifest: Any, told: str) -> None:
    with pytest.raises(UserError, match=rf"the harness react\+listed cannot be used: its manifest .*{told}"):
        _played(Counting(LAST), Listed(manifest))


def test_the_policys_seed_is_in_the_record(tmp_path: Path) -> None:
    episode = play(CoworkEnv(TASK), Counting(LAST), seed=3, sampling=11)
    assert episode.policy is not None and (episode.seed, episode.policy.seed) == (3, 11)
    _whole(episode, tmp_path)

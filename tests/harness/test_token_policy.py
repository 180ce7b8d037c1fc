"""The policy over engine and format: which prompts it extends, which it renders anew, and what it says about its tokens."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_tools import TOOLS
from word_format import END, WordFormat, rendered

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, message
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Policy, Usage, play
from cowork_gym.harness.engines import ContextFull, Drawn, Engine, Sampling
from cowork_gym.harness.policies.policy import Draw
from cowork_gym.harness.policies.token_policy import TokenPolicy

REQUEST = Message("user", "Please count the open tickets")
LISTING = ToolCall("helpdesk_list_tickets", {})


class Canned(Engine):
    """Gives prepared answers in order, the last one for ever, and keeps what it was asked."""

    name, context, version = "canned", None, "7"

    def __init__(self, *answers: Sequence[int] | Exception) -> None:
        self._answers = [*answers]
        self.prompts: list[tuple[int, ...]] = []
        self.seeds: list[int] = []

    def generate(self, prompt, sampling, *, stop, seed):
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.prompts.append(tuple(prompt))
        self.seeds.append(seed)
        if isinstance(answer, Exception):
            raise answer
        return Drawn(tuple(answer), tuple(-0.5 for _ in answer), "stop" if answer[-1] in stop else "length", self.version)


def speak(ids, tools):
    """An answer of 1 and more is a call for each of these ids; any other is final."""
    return message("So", *[ToolCall("helpdesk_list_tickets", {"n": one}) for one in ids[1:-1]]) if ids[0] == 1 else message("Done")


def played(*answers, format=None, seed=0):
    engine = Canned(*answers)
    policy = TokenPolicy(engine, format or WordFormat(speak))
    policy.reset(TOOLS, seed)
    return policy, engine


def results(said: Message, text="two tickets"):
    return [Message("tool", text, (), one.id, one.name) for one in said.tool_calls]


def test_the_first_prompt_is_rendered_whole_and_its_tokens_are_told():
    policy, engine = played([1, 5, END])
    assert (policy.name, policy.tokenizer, policy.version, policy.writes) == ("canned", "words", "7", True)
    said = policy.act([REQUEST])
    assert said == Message("assistant", "So", (ToolCall("helpdesk_list_tickets", '{"n":5}', "call_1"),))
    [prompt] = engine.prompts
    assert prompt == WordFormat().open([REQUEST], TOOLS)
    assert policy.draw.tokens == Tokens(prompt, (1, 5, END), (-0.5,) * 3, (True,) * 3)
    assert (policy.draw.fresh, policy.draw.finish, policy.draw.version, policy.draw.flaw) == (True, "stop", "7", "")
    assert policy.usage == Usage(len(prompt), 3)


def test_a_history_that_goes_on_extends_the_sampled_ids():
    policy, engine = played([1, 5, 6, END], [0, END])
    said = policy.act([REQUEST])
    added = results(said)
    policy.act([REQUEST, said, *added])
    first, second = engine.prompts
    assert second == (*first, 1, 5, 6, END, *WordFormat().extend(added, closed=True))
    assert policy.draw.tokens.context == second[len(first) + 4:]
    assert not policy.draw.fresh


def test_an_answer_that_was_cut_off_is_closed_by_the_extension():
    policy, engine = played([9, 9], [0, END])
    said = policy.act([REQUEST])
    assert said == InvalidAction("cut off", "9 9") and policy.draw.finish == "length"
    error = Message("user", "that was cut off")
    policy.act([REQUEST, Message("assistant", "9 9"), error])
    assert engine.prompts[1] == (*engine.prompts[0], 9, 9, END, *rendered(error), 258)
    assert policy.draw.tokens.context[0] == END


def test_what_was_discarded_is_asked_again_with_the_same_context():
    policy, engine = played([1, 5, END], [9, 9], [9, 9], [1, 6, END])
    said = policy.act([REQUEST])
    history = [REQUEST, said, *results(said)]
    contexts = []
    for _ in range(3):
        again = policy.act(history)
        contexts.append(policy.draw.tokens.context)
        assert not policy.draw.fresh
    assert engine.prompts[1] == engine.prompts[2] == engine.prompts[3]
    assert len(set(contexts)) == 1
    assert len(set(engine.seeds)) == 4
    policy.act([*history, again, *results(again)])
    assert engine.prompts[4][:len(engine.prompts[3]) + 3] == (*engine.prompts[3], 1, 6, END)
    assert [one.id for one in (*said.tool_calls, *again.tool_calls)] == ["call_1", "call_2"]


def test_a_first_answer_that_was_discarded_is_asked_again_with_the_whole_prompt():
    policy, engine = played([9, 9], [1, 5, END])
    policy.act([REQUEST])
    policy.act([REQUEST])
    assert engine.prompts[0] == engine.prompts[1] == policy.draw.tokens.context
    assert policy.draw.fresh


def test_a_discarded_summary_leaves_no_trace():
    policy, engine = played([1, 5, END], [0, 44, END], [1, 6, END])
    said = policy.act([REQUEST])
    history = [REQUEST, said, *results(said)]
    assert policy.write([*history, Message("user", "Summarise")]) == Message("assistant", "Done")
    assert not policy.draw.fresh
    policy.act(history)
    assert engine.prompts[2] == (*engine.prompts[0], 1, 5, END, *WordFormat().extend(results(said), closed=True))
    assert policy.draw.tokens.context == engine.prompts[2][len(engine.prompts[0]) + 3:]
    assert not policy.draw.fresh


@pytest.mark.parametrize("change", ["request", "answer", "answer-id", "result", "dropped", "foreign"])
def test_a_rewritten_history_is_rendered_anew(change):
    policy, engine = played([1, 5, END])
    said = policy.act([REQUEST])
    history = [REQUEST, said, *results(said)]
    answer = policy.act(history)
    history += [answer, *results(answer)]
    if change == "request":
        history[0] = Message("user", "Please")
    elif change == "answer":
        history[3] = Message("assistant", "Well", answer.tool_calls)
        history[1] = Message("assistant", "Well", said.tool_calls)
    elif change == "answer-id":
        history[1] = Message("assistant", "So", (ToolCall("helpdesk_list_tickets", '{"n":5}', "x"),))
    elif change == "result":
        history[2] = Message("tool", "(pruned)", (), "call_1", "helpdesk_list_tickets")
    elif change == "dropped":
        del history[1:3]
    else:
        history += [Message("assistant", "I never said that"), REQUEST]
    policy.act(history)
    assert policy.draw.fresh
    assert policy.draw.tokens.context == engine.prompts[-1] == WordFormat().open(history, TOOLS)


def test_what_was_rewritten_is_forgotten():
    policy, engine = played([1, 5, END])
    policy.act([REQUEST])
    rewritten = [Message("user", "a summary"), Message("user", "a note"), REQUEST]
    for _ in range(2):
        policy.act(rewritten)
        assert engine.prompts[-1] == WordFormat().open(rewritten, TOOLS) == policy.draw.tokens.context
        assert policy.draw.fresh


def test_a_template_with_a_flaw_is_never_extended():
    format = WordFormat(speak)
    format.flaw = "it drops thoughts"
    policy, engine = played([1, 5, END], format=format)
    said = policy.act([REQUEST])
    history = [REQUEST, said, *results(said)]
    for _ in range(2):
        policy.act(history)
        assert engine.prompts[-1] == format.open(history, TOOLS) == policy.draw.tokens.context
        assert (policy.draw.fresh, policy.draw.flaw) == (True, "it drops thoughts")


@pytest.mark.parametrize("error", [ContextFull("full"), Fault(Blame.MODEL_SERVER, "canned", "down")])
def test_an_engine_that_does_not_answer_leaves_the_tape_as_it_was(error):
    policy, engine = played([1, 5, END], error, [0, END])
    said = policy.act([REQUEST])
    history = [REQUEST, said, *results(said)]
    with pytest.raises(type(error)):
        policy.act(history)
    assert policy.draw == Draw() and policy.usage == Usage()
    policy.act(history)
    assert engine.prompts[1] == engine.prompts[2] and engine.seeds[1] == engine.seeds[2]
    assert not policy.draw.fresh


def test_a_recorded_prefix_is_extended_by_its_exact_tokens():
    policy, engine = played([0, END])
    said = Message("assistant", "So", (ToolCall("helpdesk_list_tickets", "{}", "call_4"),))
    for ids, closed in ([5, 6, 7, END], True), ([5, 6, 7], False):
        policy.reset(TOOLS, 3)
        policy.adopt([REQUEST, said], ids)
        policy.act([REQUEST, said, *results(said)])
        assert engine.prompts[-1] == (*ids, *WordFormat().extend(results(said), closed=closed))
        assert policy.draw.tokens.context == engine.prompts[-1][len(ids):] and not policy.draw.fresh
    for history, ids in ([], [1]), ([REQUEST], [1]), ([REQUEST, said], []):
        with pytest.raises(ValueError, match="prefix"):
            policy.adopt(history, ids)


def test_ids_are_unlike_all_that_the_run_has_seen():
    policy, _ = played([1, 5, 6, END])
    old = Message("assistant", None, (ToolCall("helpdesk_list_tickets", "{}", "call_9"),))
    said = policy.act([REQUEST, old, *results(old)])
    assert [one.id for one in said.tool_calls] == ["call_10", "call_11"]
    assert [one.id for one in policy.act([Message("user", "a summary instead")]).tool_calls] == ["call_12", "call_13"]
    policy.reset(TOOLS, 0)
    assert [one.id for one in policy.act([REQUEST]).tool_calls] == ["call_1", "call_2"]


def test_seeds_are_of_the_run_and_of_the_answer():
    seeds = []
    for seed in (3, 3, 4):
        policy, engine = played([0, END], seed=seed)
        policy.act([REQUEST])
        policy.act([REQUEST])
        seeds.append(engine.seeds)
    assert seeds[0] == seeds[1] != seeds[2] and len({*seeds[0], *seeds[2]}) == 4


def test_a_child_has_a_history_of_its_own():
    policy, engine = played([1, 5, END])
    said = policy.act([REQUEST])
    child = policy.spawn()
    child.reset(TOOLS[:2], 1)
    child.act([Message("user", "count them")])
    assert child.draw.fresh and child.name == policy.name and engine.prompts[1] == WordFormat().open([Message("user", "count them")], TOOLS[:2])
    policy.act([REQUEST, said, *results(said)])
    assert not policy.draw.fresh


class Watched(Policy):
    """Plays as another policy does, and keeps its histories and draws."""

    def __init__(self, inner):
        self.inner, self.name, self.draws, self.histories = inner, inner.name, [], []

    def reset(self, tools, seed):
        self.inner.reset(tools, seed)

    def act(self, history):
        said = self.inner.act(history)
        self.usage = self.inner.usage
        self.draws.append(self.inner.draw)
        self.histories.append(history)
        return said


SPOKEN = {1: message("So", LISTING), 2: message(None, LISTING, LISTING), 3: InvalidAction("garbled", "\ud800 <call"),
          4: message("a lone \ud800", LISTING), 5: message("", ToolCall("helpdesk_list_tickets", "{not json")), 6: Message("assistant")}


@settings(max_examples=12)
@given(st.lists(st.sampled_from([*SPOKEN]), min_size=2, max_size=8))
def test_whatever_it_says_is_recognised_in_the_record(answers):
    """The environment refuses some of these messages and keeps them as text; the next prompt extends all the same."""
    policy, engine = played(*[[one, END] if one != 2 else [one] for one in answers], [0, END],
                            format=WordFormat(lambda ids, tools: SPOKEN.get(ids[0], message("Done"))))
    watched = Watched(policy)
    with CoworkEnv(load_task("M1100")) as env:
        episode = play(env, watched, seed=0)
    assert episode.fault is None
    assert [one.fresh for one in watched.draws] == [True] + [False] * len(answers)
    tape = ()
    for draw, prompt in zip(watched.draws, engine.prompts, strict=True):
        assert (*tape, *draw.tokens.context) == prompt
        tape = (*prompt, *draw.tokens.ids)
    ids = [call.id for turn in episode.turns if turn.action for call in turn.action.tool_calls]
    assert len(ids) == len(set(ids))


def test_sampling_is_handed_on():
    asked = []

    class Asked(Canned):
        def generate(self, prompt, sampling, **rest):
            asked.append(sampling)
            return super().generate(prompt, sampling, **rest)

    sampling = Sampling(max_tokens=7, temperature=0.3)
    policy = TokenPolicy(Asked([0, END]), WordFormat(), sampling, name="local:tiny")
    policy.act([REQUEST])
    assert asked == [sampling] and policy.name == policy.spawn().name == "local:tiny"

"""Episodes for the tests of data builders: played once for each process, under several harnesses."""

from functools import cache

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import InvalidAction, Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, make_agent, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.middleware import Summary, Window
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dialogues import Built, Shape, build_dialogues

TASK = load_task("M1100")
ACTIONS = TASK.references[0].actions
"""Eight calls, one a message, and the final answer."""
CATALOG = Catalog()
SUMMARY = "So far: TCK-5802 is the card, the shift is known."


class Lines(Policy):
    """Says its lines in order; writes the same summary whenever it is asked to."""

    name, writes = "lines", True

    def __init__(self, *lines, texts=(), children=()):
        self.lines, self.texts, self.children, self._child = lines, texts or (final(SUMMARY),), children, 0

    def reset(self, tools, seed):
        self._next = self._text = self._child = 0

    def act(self, history):
        self._next += 1
        return self.lines[self._next - 1]

    def write(self, history):
        self._text += 1
        return self.texts[min(self._text, len(self.texts)) - 1]

    def spawn(self):
        self._child += 1
        return Lines(*self.children[(self._child - 1) % len(self.children)]) if self.children else Lines(final("Done."))


def played(policy, *, task=TASK, seed=0, sampling=None, **parts) -> Episode:
    return play(CoworkEnv(task), policy, harness=compose(**parts), seed=seed, sampling=sampling)


@cache
def plain() -> Episode:
    return played(make_agent("reference", TASK))


@cache
def windowed() -> Episode:
    return played(make_agent("reference", TASK), middleware=[Window(size=4, stride=2)], prompt="Be careful.")


@cache
def summarised(by_policy: bool = True) -> Episode:
    """Its first attempt at a summary calls a tool, so it is discarded."""
    texts = (call("helpdesk_list_tickets"), final(SUMMARY))
    other = None if by_policy else lambda: Lines(texts=(final("Another model's summary."),))
    return played(Lines(*ACTIONS, texts=texts), middleware=[Summary(at=1200, keep=1, by=other)])


@cache
def delegated() -> Episode:
    child = (*ACTIONS[4:8], final("The card is written."))
    parent = (*ACTIONS[:4], call("delegate", task="Write the card."), ACTIONS[8])
    return played(Lines(*parent, children=(child,)), tools=[Delegate()])


@cache
def clumsy() -> Episode:
    """Two answers that are no examples: one that is no message, one whose call is refused. All else is the reference."""
    lines = [InvalidAction("no message could be read", "{{{ broken"), call("crm_get_customer"), *ACTIONS]
    return played(Lines(*lines))


def scripted(*lines: Message, name: str = "scripted") -> Episode:
    return played(ScriptedPolicy(name, lines))


def built(episode: Episode, **shape) -> Built:
    return build_dialogues(episode, CATALOG, Shape(**shape), trial="t")


def dialogue(episode: Episode, **shape) -> Dialogue:
    (one,) = built(episode, **shape).dialogues
    return one

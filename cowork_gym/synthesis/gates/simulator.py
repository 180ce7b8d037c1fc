"""The gate `simulator`: the user of a dialogue keeps to their facts, tells them only when asked, and not asking costs something."""

from collections.abc import Iterable, Iterator

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.messages import final
from cowork_gym.core.task import Execution
from cowork_gym.core.wording import counted
from cowork_gym.envs.dialogue import Dialogue, Reply, RuleUser, leaves_facts, parse_dialogue
from cowork_gym.graders.checks import Asked
from cowork_gym.synthesis.derived import postponed, silenced
from cowork_gym.synthesis.gates.degenerate import play_agents
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.recorded import script_of, whole, writes_of
from cowork_gym.synthesis.rewards import reward_of, ungraded

__all__ = ["SIMULATOR"]

_FILE = "private/dialogue.yaml"
_ANYTHING = "Could you tell me everything you know?"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    if not subject.task.dialogue:
        return (), ("nobody answers",)
    dialogue = parse_dialogue(subject.task.dialogue, _FILE)
    asked = [check for _, check in subject.contract.placed() if isinstance(check, Asked)]
    problems = [*_unasked(subject, asked), *_silent(subject, asked), *_late(subject, asked), *_at_once(dialogue)]
    play_agents(subject)
    subject.play(_interrogation(dialogue, len(subject.task.stages)))
    episodes = {id(one): one for one in (*subject.references, *subject.negatives, *subject.episodes)}.values()
    replies = 0
    for episode in episodes:
        for turn, said in _replies(episode):
            replies += 1
            if (found := leaves_facts(dialogue, turn.observation[0].content or "", turn.heard, said)) is not None:
                problems.append(Problem(f"{episode.agent}, reply to message {turn.index + 1}", found, "mend what the user says, or who says it"))
    return tuple(problems), (
        f"{counted(replies, 'reply', 'replies')} in {counted(len(episodes), 'episode')} looked at; {counted(len(dialogue.facts), 'fact')}, "
        f"asked for by {counted(len(asked), 'check')}",
        *(f"{one.agent} hears {', '.join(_heard(one)) or 'nothing'}" for one in subject.references),
    )


def _interrogation(dialogue: Dialogue, moves: int) -> Execution:
    """Who asks for what is private first, then for every fact in each of its words."""
    secrets = [f"Is it true that {one.written}?" for one in dialogue.private]
    facts = [f"Could you tell me {', '.join(_plain(group))}?" for fact in dialogue.facts for group in fact.asks]
    return Execution("interrogation", (*map(final, [_ANYTHING, *secrets, *facts]), *[final("")] * moves))


def _plain(group: Iterable[str]) -> list[str]:
    return [phrase.removesuffix("*") for phrase in group]


def _replies(episode: Episode) -> Iterator[tuple[Turn, list[str]]]:
    """Each turn that the user replied to, with what they had said until then."""
    said, ends = [one.content or "" for one in episode.opening], {stage.turns for stage in episode.stages}
    for turn in episode.turns:
        if turn.action is not None and not turn.action.tool_calls and turn.observation:
            if turn.index + 1 not in ends:  # else it is the next request
                yield turn, [*said]
            said += [one.content or "" for one in turn.observation]


def _heard(episode: Episode) -> list[str]:
    return [fact for turn in episode.turns for fact in turn.heard]


def _unasked(subject: Subject, asked: list[Asked]) -> Iterator[Problem]:
    """What checks want to be asked is asked by every reference."""
    if not asked:
        yield Problem("private/grading.yaml", "no check asks whether the user was asked", "add {kind: asked, fact: …} for what only the user knows")
    for name, episode in zip((one.name for one in subject.task.references), subject.references, strict=True):
        for fact in sorted({check.fact for check in asked}.difference(_heard(episode))):
            yield Problem(f"reference {name}", f"it never hears {fact}", "let it ask for it, in words that the fact's `asks` have")


def _silent(subject: Subject, asked: list[Asked]) -> Iterator[Problem]:
    """Who never asks loses what asking is worth, even with the right values by luck."""
    for at in whole(subject):
        script, original = script_of(subject, at), subject.references[at]
        questions = [turn.index for turn, _ in _replies(original)]
        episode = subject.play(silenced(script, questions, "asks nothing"))
        where, reward = f"reference {script.name} without its questions", reward_of(episode)
        if reward is None:
            yield ungraded(where, episode)
        elif reward == 1:
            yield Problem(where, f"it still earns {reward}", "give weight to an `asked` check, or make it an outcome")
        passed = {one.id for one in episode.grade.checks if one.passed} if episode.grade else set()
        for check in asked:
            if check.id in passed:
                yield Problem(where, f"{check.id} holds all the same", "let the check ask for a fact that is only told when asked for")


def _late(subject: Subject, asked: list[Asked]) -> Iterator[Problem]:
    """Who asks when the work is done loses what asking is worth as well."""
    for at in whole(subject):
        script = script_of(subject, at)
        questions = [turn.index for turn, _ in _replies(subject.references[at])]
        episode = subject.play(postponed(script, questions, "asks late"))
        passed = {one.id for one in episode.grade.checks if one.passed} if episode.grade and writes_of(subject, script) else set()
        where = f"reference {script.name} with its questions last"
        for check in asked:
            if check.id in passed:
                yield Problem(where, f"{check.id} holds all the same", "say `before` the first call of which tool it is to be asked")


def _at_once(dialogue: Dialogue) -> Iterator[Problem]:
    """Neither a message that asks for everything by name nor one that asks for anything at all hears everything."""
    phrases = [phrase for fact in dialogue.facts for group in fact.asks for phrase in _plain(group)]
    facts, unasked = {fact.id for fact in dialogue.facts}, {fact.id for fact in dialogue.facts if fact.volunteered}
    if len(facts) > 1 and facts <= _told(RuleUser(dialogue).reply((), final(f"Could you tell me {', '.join(phrases)}?"))):
        advice = "lower per_reply, or let a fact come `after` another one"
        yield Problem(_FILE, "one message that asks for everything hears everything", advice)
    if beyond := _told(RuleUser(dialogue).reply((), final(_ANYTHING))) - unasked:
        yield Problem(_FILE, f"who asks for nothing in particular hears {', '.join(sorted(beyond))}", "let `asks` name what has to be asked for")


def _told(reply: Reply | None) -> set[str]:
    return set(reply.facts) if reply else set()


SIMULATOR = Gate("simulator", "The user tells their facts only, only when asked, and not all at once; not asking costs something.", _examine)

"""A sealed episode as a rollout: which tokens the record has, which of them may be trained, and where each step stands among them.

Sampled ids are taken as they are: nothing is rendered or encoded again. A token is trained where it was sampled and nowhere else: in each later
prompt it is context, and so are the turns that a branched episode took over.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.grade import Grade
from cowork_gym.core.record import seal
from cowork_gym.core.trajectory import ROOT, Run
from cowork_gym.trainers.data.anchors import moments
from cowork_gym.trainers.data.rollouts import Boundary, Rollout, Segment
from cowork_gym.trainers.data.steps import Drawn, Packaging, packed, sequence, stride_of

__all__ = ["CHILD", "Conversion", "form_id", "group_of", "rollout_of"]

CHILD = "a child run"
"""Why a child's segment is dropped, where children are to receive no loss."""
_COMPONENTS = ("completion", "safety", "robustness", "outcome")


@dataclass(frozen=True, slots=True)
class Conversion:
    """How episodes become rollouts."""

    packaging: Packaging = Packaging.LITERAL
    """How segments of a FIFO window are cut into samples."""
    children: bool = True
    """Whether child runs are trained. Without it they receive no loss, as in Occamy; the rollout's one reward counts once either way."""
    by_version: bool = False
    """Whether attempts by other versions of the weights make a group of their own."""


_PLAIN = Conversion()


def form_id(task: str, release_id: str, seed: int) -> str:
    """The group of all attempts at a form of a task from its beginning."""
    return f"{task}/{release_id}/s{seed}"


def group_of(episode: Episode, *, by_version: bool = False) -> str:
    """The attempts that an episode is compared with: those at the same form of the same release of a task, from the same beginning.

    Args:
        episode: Whose group it is.
        by_version: Whether they are of the same version of the policy's weights too, as it was when the episode began.
    """
    parts = [form_id(episode.task, episode.release_id, episode.seed)]
    if episode.origin is not None:
        parts.append(f"from {episode.origin.seal} at {episode.origin.turn}")
    if by_version:
        parts.append(f"by {episode.policy.version if episode.policy else ''}")
    return "/".join(parts)


def rollout_of(episode: Episode, conversion: Conversion = _PLAIN, *, trial: str = "") -> Rollout:
    """The rollout of an episode. One that is quarantined or not graded gives a rollout that is dropped, has no segments, and says why.

    Segments that may not be trained stay in it with their reason: those for audit only, those whose tokens are not known, and those without a
    token to train.

    Args:
        episode: Sealed and, to be of use, graded.
        conversion: How.
        trial: Which attempt it is, where a folder says so.

    Raises:
        ValueError: The grade has a number that is not finite.
    """
    grade, id = episode.grade, (episode.grade.seal if episode.grade else "") or seal(episode)
    reward = None if grade is None else grade.reward
    named = {name: getattr(grade, name) for name in _COMPONENTS} if grade else {}
    reason = _reason(episode, grade)
    runs = () if reason else (*episode.runs[1:], *episode.runs[:1])
    drawn = [one for run in runs for one in _samples(episode, run, conversion)]
    segments = tuple(_segment(id, at, len(drawn), *one) for at, one in enumerate(drawn))
    return Rollout(
        id=id, group=group_of(episode, by_version=conversion.by_version), task=episode.task, release_id=episode.release_id, seed=episode.seed,
        sampling=episode.policy.seed if episode.policy else None, tokenizer=episode.policy.tokenizer if episode.policy else "", reward=reward,
        components={name: value for name, value in named.items() if value is not None},
        accuracy=None if grade is None or reward is None else float(grade.passed),
        interaction_steps=len(episode.turns) - (episode.origin.turn if episode.origin else 0), ending=episode.ending,
        truncated=any(one.kept and one.finish == "length" for run in episode.runs for one in run.generations), segments=segments,
        children=_children(episode), trial=trial, drop_reason=reason,
    )


def _samples(episode: Episode, run: Run, conversion: Conversion) -> Iterator[tuple[int, Drawn, str]]:
    """Each sample of a run with the reason why it is not trained."""
    known = list(moments(episode, run))
    stride = stride_of(episode, run.id) if conversion.packaging is Packaging.LITERAL else None
    for at, segment in enumerate(run.segments):
        after = run.segments[at + 1].rewrite if at + 1 < len(run.segments) else None
        whole = sequence(segment, known, Boundary(after.kind) if after else Boundary.END)
        why = "nothing was kept" if not segment.kept else "no token data" if whole is None else ""
        if not why and segment.audit:
            why = f"for audit only: {segment.audit}"
        if not why and run.id != ROOT and not conversion.children:
            why = CHILD
        if whole is None or why:
            yield run.id, whole or Drawn(), why
        else:
            yield from ((run.id, one, "" if any(one.mask) else "no token to train") for one in packed(whole, known, stride))


def _segment(rollout: str, index: int, count: int, run: int, drawn: Drawn, why: str) -> Segment:
    mask = (False,) * len(drawn.mask) if why else drawn.mask
    return Segment(
        rollout, run, index, count, drawn.prompt, drawn.ids, mask, drawn.logprobs, drawn.versions, drawn.steps, drawn.boundary, drop_reason=why,
    )


def _children(episode: Episode) -> Mapping[int, str]:
    """Who played each child run: the episode's policy, unless the harness has another one for children."""
    manifest = episode.composition.manifest if episode.composition else {}
    other = next((one["policy"]["name"] for one in manifest.get("tools", ()) if one.get("policy")), None)
    name = other or (episode.policy.name if episode.policy else episode.agent)
    return {run.id: name for run in episode.runs if run.id != ROOT}


def _reason(episode: Episode, grade: Grade | None) -> str:
    """Why an episode enters neither statistics nor loss."""
    fault = episode.fault or (grade.fault if grade else None)
    if fault is not None or episode.ending is Ending.FAULT:
        return f"quarantined: {fault.blame if fault else 'unknown'}"
    if grade is None:
        return "not graded"
    return "no reward" if grade.reward is None else ""

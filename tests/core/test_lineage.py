"""Runs that contradict themselves or the turns: told in one sentence before sealing, and refused by whoever reads them."""

from dataclasses import replace

import pytest
from episode_samples import UNGRADED
from run_samples import ASK, NEW, OLD, PLAYED, PROMPT, REWRITE, RUNS, SUMMARY, TURNS, with_generation, with_runs, with_segments

from cowork_gym.core.errors import PackageError
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import Origin, Prefix, Provenance, Run, Tokens

ROOT, CHILD_RUN = RUNS
FIRST, SECOND, THIRD = OLD.generations


def _child(**fields):
    return with_runs(ROOT, replace(CHILD_RUN, **fields))


def _rewritten(**fields):
    return with_segments(OLD, replace(NEW, rewrite=replace(REWRITE, **fields)))


def _turn(at, **fields):
    return replace(PLAYED, turns=tuple(replace(one, **fields) if one.index == at else one for one in PLAYED.turns))


def _tokens(at, **fields):
    one = next(one for one in ROOT.generations if one.index == at)
    return with_generation(at, tokens=replace(one.tokens, **fields))


CONTRADICTIONS = {
    "no root": (with_runs(CHILD_RUN), "run 1 stands where run 0 belongs"),
    "runs in another order": (with_runs(CHILD_RUN, ROOT), "run 1 stands where run 0 belongs"),
    "a run is missing": (with_runs(ROOT, replace(CHILD_RUN, id=2)), "run 2 stands where run 1 belongs"),
    "a run comes twice": (with_runs(ROOT, CHILD_RUN, CHILD_RUN), "run 1 stands where run 2 belongs"),
    "the root has a parent": (with_runs(replace(ROOT, parent=0), CHILD_RUN), "run 0 is the root and has a parent"),
    "the root was asked for": (with_runs(replace(ROOT, fork=0), CHILD_RUN), "run 0 is the root and has a parent"),
    "a child without a parent": (_child(parent=None), "run 1 has no parent that began before it"),
    "its own parent": (_child(parent=1), "run 1 has no parent that began before it"),
    "a parent before the root": (_child(parent=-1), "run 1 has no parent that began before it"),
    "nobody asked for it": (_child(fork=None), "run 1 was asked for by generation None of run 0, which was not kept or is not there"),
    "no such generation": (_child(fork=5), "run 1 was asked for by generation 5 of run 0, which was not kept or is not there"),
    "asked for by an attempt": (_child(fork=1), "run 1 was asked for by generation 1 of run 0, which was not kept or is not there"),
    "a turn of no run": (_turn(4, run=2), "turn 4 is of run 2, which there is not"),
    "a turn before the root": (replace(UNGRADED, turns=(replace(UNGRADED.turns[0], run=-1), *UNGRADED.turns[1:])), "turn 0 is of run -1"),
    "a turn of another run": (_turn(4, run=1), "run 0, segment 1, generation 4 leads to turn 4, which is of run 1"),
    "a state that is no hash": (_turn(3, state="1" * 63), "the state after turn 3 is no sha256"),
    "a state in capitals": (_turn(3, state="A" * 64), "the state after turn 3 is no sha256"),
    "an empty segment": (with_segments(OLD, replace(NEW, generations=())), "run 0, segment 1 has no generation"),
    "a first segment after a rewrite": (with_segments(replace(OLD, rewrite=REWRITE), NEW), "run 0, segment 0 is the first and has a rewrite"),
    "a segment without a rewrite": (with_segments(OLD, replace(NEW, rewrite=None)), "run 0, segment 1 follows without a rewrite"),
    "a number is missing": (with_generation(4, index=5), "run 0, segment 1, generation 5 stands where generation 4 belongs"),
    "numbers begin anew": (with_generation(4, index=0), "run 0, segment 1, generation 0 stands where generation 4 belongs"),
    "an act without a turn": (with_generation(3, turn=None), "run 0, segment 1, generation 3 leads to no turn"),
    "an attempt with a turn": (with_generation(1, turn=3), "run 0, segment 0, generation 1 leads to a turn, which only an act that was kept does"),
    "a summary with a turn": (with_generation(2, turn=3), "run 0, segment 0, generation 2 leads to a turn, which only an act that was kept does"),
    "a turn of the future": (with_generation(4, turn=5), "run 0, segment 1, generation 4 leads to turn 5, which there is not"),
    "a turn before the first": (with_generation(4, turn=-1), "run 0, segment 1, generation 4 leads to turn -1, which there is not"),
    "a turn twice": (with_generation(4, turn=3), "run 0, segment 1, generation 4 leads to turn 3, which a generation before it led to"),
    "turns in another order": (
        with_segments(OLD, replace(NEW, generations=(replace(NEW.generations[0], turn=4), replace(NEW.generations[1], turn=3)))),
        "run 0, segment 1, generation 4 leads to turn 3, which a generation before it led to, or which is older",
    ),
    "a turn that nobody took": (with_segments(OLD, replace(NEW, generations=NEW.generations[:1])), "turn 4 comes from no generation of run 0"),
    "a trained attempt": (_tokens(1, mask=(False, True)), "run 0, segment 0, generation 1 was discarded, and some of its tokens may be trained"),
    "tokens begin late": (with_generation(0, tokens=None), "run 0, segment 0, generation 2 has tokens, unlike the first of its segment"),
    "tokens end early": (with_generation(4, tokens=None), "run 0, segment 1, generation 4 has no tokens, unlike the first of its segment"),
    "another history before": (
        _rewritten(before=Prefix.of((*PROMPT, TURNS[0].said, ASK, SUMMARY))),
        "run 0, segment 1: the rewrite began with another history than the segment before it ended with",
    ),
    "another length before": (_rewritten(before=replace(REWRITE.before, messages=5)), "run 0, segment 1: the rewrite began with another history"),
    "another history after": (
        _rewritten(after=Prefix.of((ASK,))), "run 0, segment 1: the rewrite left another history than generation 3 was given",
    ),
    "a summary that is not there": (_rewritten(summary=Provenance("rule", "x", 3)), "run 0, segment 1: the summary stands at message 3"),
    "a summary by an attempt": (_rewritten(summary=Provenance("policy", "x", 2, 1)), "run 0, segment 1: the summary is by generation 1, which was"),
    "a summary of the future": (_rewritten(summary=Provenance("policy", "x", 2, 3)), "run 0, segment 1: the summary is by generation 3, which was"),
    "a summary by nobody": (_rewritten(summary=Provenance("policy", "x", 2, -1)), "run 0, segment 1: the summary is by generation -1, which was"),
    "more taken over than there is": (replace(PLAYED, origin=Origin("b" * 64, 6)), "the episode took over 6 turns, and has 5"),
    "fewer than none taken over": (replace(PLAYED, origin=Origin("b" * 64, -1)), "the episode took over -1 turns, and has 5"),
    "branched from no episode": (replace(PLAYED, origin=Origin("b" * 63, 1)), "the seal of the episode that this one was branched from is no sha256"),
    "too much taken over": (replace(PLAYED, runs=(replace(ROOT, segments=()),), origin=Origin("b" * 64, 3)), "turn 3 comes from no generation"),
    "a turn after the taken ones of no run": (replace(with_runs(ROOT), origin=Origin("b" * 64, 2)), "turn 2 is of run 1, which there is not"),
}
UNKEPT = {
    "a negative id": ({"ids": (1, -1, 2)}, "an id that was sampled is no number from 0 to 2147483647"),
    "a large id": ({"ids": (2**31,)}, "an id that was sampled is no number from 0 to 2147483647"),
    "a large id in a context": ({"context": (1, 2**31)}, "an id of its context is no number"),
    "a negative id in a context": ({"context": (-1, 3)}, "an id of its context is no number"),
    "a text": ({"ids": ("1",)}, "token data are tuples of int, int, float and bool, and of nothing else"),
    "a truth value": ({"context": (True,)}, "token data are tuples of int, int, float and bool, and of nothing else"),
    "a list": ({"context": [1]}, "token data are tuples of int, int, float and bool, and of nothing else"),
    "a whole number": ({"logprobs": (0,)}, "token data are tuples of int, int, float and bool, and of nothing else"),
    "no mask": ({"mask": (None,)}, "token data are tuples of int, int, float and bool, and of nothing else"),
    "not a number": ({"logprobs": (float("nan"),)}, "a log-probability is not finite"),
    "no chance": ({"logprobs": (float("-inf"),)}, "a log-probability is not finite"),
    "more than certain": ({"logprobs": (float("inf"),)}, "a log-probability is not finite"),
    "fewer": ({"logprobs": ()}, "sampled ids, 0 log-probabilities and a mask of"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_told_and_refused(tmp_path, name):
    pytest.importorskip("pyarrow")
    episode, said = CONTRADICTIONS[name]
    told = contradiction_of_runs(episode)
    assert told.startswith(said) and "\n" not in told
    path = write_episode(episode, tmp_path)
    with pytest.raises(PackageError) as found:
        read_episode(path)
    assert str(found.value) == f"{path}: not an episode file of version 1: {told}"


@pytest.mark.parametrize("name", UNKEPT)
def test_tokens_that_cannot_be_kept_are_never_made(name):
    changed, said = UNKEPT[name]
    size = len(changed.get("ids", (1,)))
    with pytest.raises(ValueError, match=said):
        Tokens(**{"context": (), "ids": (1,) * size, "logprobs": (-1.0,) * size, "mask": (True,) * size, **changed})


@pytest.mark.parametrize("episode", [
    PLAYED, UNGRADED, with_runs(), replace(PLAYED, origin=Origin("b" * 64, 0)), replace(PLAYED, origin=Origin("b" * 64, 5)),
    replace(PLAYED, runs=(Run(0, ()),), origin=Origin("b" * 64, 5)), replace(PLAYED, turns=(), runs=(Run(0, ()),)),
])
def test_where_nothing_contradicts_nothing_is_told(episode):
    assert contradiction_of_runs(episode) is None



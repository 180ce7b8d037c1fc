"""SmolLM2's real weights over a compaction: the log-probabilities in the record are those of a fresh forward pass over the recorded ids."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("gguf")

from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import call, final
from cowork_gym.core.trajectory import Purpose, RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import TokenPolicy, compose, play
from cowork_gym.harness.engines import Sampling
from cowork_gym.harness.middleware import Budget, Summary
from cowork_gym.harness.policies.local import LocalEngine, smollm2
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat

pytestmark = [pytest.mark.smol, pytest.mark.slow, pytest.mark.timeout(600)]

TOLERANCE = 1e-3
"""Of a log-probability in float32; 2e-5 was the most that was seen."""
TEMPERATURE = 0.9


class _Told(JinjaFormat):
    """The real template; what an answer says is decided by who asks, since the model would end the episode at once."""

    writing = False

    def read(self, ids, finish, tools):
        return final("A summary.") if self.writing else call("kb_search", query="certificate")


class _Policy(TokenPolicy):
    def act(self, history):
        self._format.writing = False
        return super().act(history)

    def write(self, history):
        self._format.writing = True
        return super().write(history)


def test_the_log_probabilities_are_the_models_own_across_a_compaction():
    import torch

    try:
        model, tokenizer = smollm2()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    harness = compose(only=("kb_search",), middleware=[Summary(at=700, keep=1), Budget(turns=4)])
    env = CoworkEnv(load_task("M1003"))
    with LocalEngine(model, name="smollm2") as engine:
        policy = _Policy(engine, _Told(tokenizer, SMOLLM2_TOOLS), Sampling(max_tokens=16, temperature=TEMPERATURE))
        episode = play(env, policy, harness=harness, seed=0)
    env.close()
    assert episode.fault is None
    assert contradiction_of_runs(episode) is None
    (run,) = episode.runs
    assert RewriteKind.SUMMARY in {one.rewrite.kind for one in run.segments if one.rewrite}
    assert Purpose.SUMMARY in {one.purpose for one in run.generations}
    worst, compared = 0.0, 0
    for segment in run.segments:
        with torch.no_grad():
            logits = model(torch.tensor([segment.ids])).logits[0].float() / TEMPERATURE
        rows, at = logits.log_softmax(-1), 0
        for one in segment.kept:
            at += len(one.tokens.context)
            for id, logprob in zip(one.tokens.ids, one.tokens.logprobs, strict=True):
                worst, at, compared = max(worst, abs(float(rows[at - 1, id]) - logprob)), at + 1, compared + 1
    assert compared > 40
    assert worst < TOLERANCE, worst
    print(f"{compared} log-probabilities, the largest difference {worst:.1e}")

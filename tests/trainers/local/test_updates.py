"""Updates of a policy by each algorithm: aligned rows, one normalisation, nothing moved by what does not count, and the same bits again."""

import copy
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from tiny_players import played, policy

from cowork_gym.core.record import seal
from cowork_gym.trainers.algorithms import token_logprobs
from cowork_gym.trainers.data import rollout_of
from cowork_gym.trainers.data.rollouts import Rollout
from cowork_gym.trainers.local.critic import Critic
from cowork_gym.trainers.local.objectives import OBJECTIVES
from cowork_gym.trainers.local.rows import rows_of
from cowork_gym.trainers.local.sao import Sao, SaoSettings
from cowork_gym.trainers.local.update import Update, UpdateSettings, logprobs_of

MODEL = policy()
EPISODES = played(MODEL)


def _rewarded(rollouts: list[Rollout]) -> list[Rollout]:
    """The same with rewards that differ inside of each group: an untrained policy earns nothing."""
    return [
        replace(one, reward=(at % 4) / 3, components={**one.components, "completion": (at % 4) / 3, "safety": 1.0 - at % 2})
        for at, one in enumerate(rollouts)
    ]


ROLLOUTS = _rewarded([rollout_of(one) for one in EPISODES])
GROUPED = sorted({*OBJECTIVES} - {"sao"})


def _update(name: str, rollouts: list[Rollout], **settings: object) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """The weights after an update, and its metrics."""
    torch.manual_seed(0)
    model = copy.deepcopy(MODEL).train()
    update = Update(model, torch.optim.SGD(model.parameters(), 0.1), OBJECTIVES[name](), UpdateSettings(**settings))
    metrics = update(rollouts, seed=1)
    return model.state_dict(), metrics


def _moved(weights: dict[str, torch.Tensor]) -> float:
    return max(float((one - MODEL.state_dict()[name]).abs().max()) for name, one in weights.items())


def _apart(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def test_episodes_are_the_same_bits_each_time() -> None:
    assert [seal(one) for one in played(policy())] == [seal(one) for one in EPISODES]
    assert all(one.fault is None and one.runs[0].generations for one in EPISODES)


def test_rows_say_what_the_policy_sampled() -> None:
    rows = rows_of(ROLLOUTS)
    assert int(rows.mask.sum()) == sum(one.trained for one in ROLLOUTS)
    with torch.no_grad():
        logits = MODEL.eval()(input_ids=rows.ids, attention_mask=rows.attention).logits[:, :-1]
    fresh = token_logprobs(logits, rows.ids[:, 1:], rows.mask)
    assert float((fresh - rows.rollout_logp)[rows.mask].abs().max()) < 1e-5
    assert torch.equal(rows.step >= 0, rows.mask)
    part = rows.take(torch.tensor([2, 0]))
    assert torch.equal(part.ids[0, : int(part.attention[0].sum())], rows.ids[2, : int(rows.attention[2].sum())])
    assert torch.allclose(logprobs_of(MODEL, rows, UpdateSettings(micro_tokens=300)), fresh, atol=1e-5)


@pytest.mark.parametrize("name", GROUPED)
def test_every_algorithm_moves_weights_and_tells_of_it(name: str) -> None:
    weights, metrics = _update(name, ROLLOUTS, minibatches=1)
    assert _moved(weights) > 1e-6
    assert metrics["rows"] == len(rows_of(ROLLOUTS)) and metrics["entropy"] > 1 and metrics["drift"] < 1e-5
    again, same = _update(name, ROLLOUTS, minibatches=1)
    assert _apart(weights, again) == 0 and same == metrics


@pytest.mark.parametrize("name", GROUPED)
def test_micro_batches_change_nothing(name: str) -> None:
    weights, _ = _update(name, ROLLOUTS, micro_tokens=200)
    assert _apart(weights, _update(name, ROLLOUTS, micro_tokens=10**6)[0]) < 1e-5


@pytest.mark.parametrize("name", GROUPED)
def test_what_is_quarantined_moves_no_weight(name: str) -> None:
    planted = [one for each in ROLLOUTS for one in (each, replace(each, id=f"{each.id}-fault", reward=None, segments=(), drop_reason="quarantined"))]
    assert _apart(_update(name, ROLLOUTS)[0], _update(name, planted)[0]) < 1e-7
    nothing, metrics = _update(name, [one.dropped("quarantined") for one in ROLLOUTS])
    assert _moved(nothing) == 0 and metrics == {"rows": 0.0}


@pytest.mark.parametrize("name", sorted({*GROUPED} - {"gdpo", "hdpo", "gigpo"}))
def test_equal_rewards_move_nothing(name: str) -> None:
    assert _moved(_update(name, [replace(one, reward=0.5) for one in ROLLOUTS])[0]) < 1e-7


def test_a_critic_learns_first_and_then_the_policy() -> None:
    torch.manual_seed(0)
    model = copy.deepcopy(MODEL).train()
    critic = Critic(model)
    rows = rows_of(ROLLOUTS)
    assert float(critic.values(rows, 10**6).abs().max()) == 0
    update = Update(model, torch.optim.SGD(model.parameters(), 0.1), OBJECTIVES["sao"](), UpdateSettings())
    sao = Sao(update, critic, torch.optim.Adam(critic.parameters(), 1e-3), SaoSettings(warmup=8))
    told = [sao(ROLLOUTS, seed) for seed in range(8)]
    assert _moved(model.state_dict()) == 0 and told[-1]["value_loss"] < told[0]["value_loss"] and "entropy" not in told[-1]
    told.append(sao(ROLLOUTS, 8))
    assert _moved(model.state_dict()) > 1e-6 and 0 <= told[-1]["dis_dropped"] <= 1
    with pytest.raises(ValueError, match="come from its critic"):
        OBJECTIVES["sao"]().signals(ROLLOUTS, rows)

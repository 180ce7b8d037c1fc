"""Agents by name: each is found, and each mistake is told with the nearest choice."""

from pathlib import Path

import pytest

from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.ledger import Effect
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import AGENTS, make_agent, play
from cowork_gym.harness.policies.openai import OpenAIPolicy

TASK = load_task("M1100")
CUSTOMERS = {one["customer_id"] for one in TASK.world["crm"]["customers"]}


@pytest.fixture
def env() -> CoworkEnv:
    return CoworkEnv(TASK)


@pytest.mark.parametrize(("spec", "reward"), [
    ("reference", 1.0), (f"reference:{TASK.references[0].name}", 1.0), ("negative:export_crm", 0.0), ("noop", 0.0), ("text-only", 0.0),
])
def test_scripted_agents_earn_what_they_are_worth(env: CoworkEnv, spec: str, reward: float) -> None:
    episode = play(env, make_agent(spec, TASK), seed=0)
    assert (episode.agent, episode.ending, episode.grade.reward) == (spec, Ending.FINAL, reward)


def test_every_negative_can_be_played(env: CoworkEnv) -> None:
    for one in TASK.negatives:
        assert play(env, make_agent(f"negative:{one.name}", TASK), seed=0).grade.reward <= one.max_reward


def test_noop_says_nothing_and_text_only_claims_everything(env: CoworkEnv) -> None:
    assert play(env, make_agent("noop", TASK), seed=0).answer == ""
    assert play(env, make_agent("text-only", TASK), seed=0).answer.startswith("Done.")


def test_a_script_is_played_and_ends_even_where_it_does_not_say_so(env: CoworkEnv, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("turns:\n  - crm_list_customers: {}\n  - - kb_search: {query: key}\n    - kb_search: {query: rotation}\n")
    episode = play(env, make_agent(f"script:{file}", TASK), seed=0)
    assert episode.agent == "script:mine"
    assert [one.tool for one in episode.ledger] == ["crm_list_customers", "kb_search", "kb_search"]
    assert (episode.ending, episode.answer) == (Ending.FINAL, "")


def test_a_json_script_is_played_too(env: CoworkEnv, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"turns": [{"crm_list_customers": {}}], "final": "done"}')
    assert play(env, make_agent(f"script:{file}", TASK), seed=0).answer == "done"


def test_a_model_name_may_hold_slashes_colons_and_at_signs() -> None:
    pytest.importorskip("openai")
    policy = make_agent("openai:team/qwen3:8b@awq@http://127.0.0.1:9/v1", TASK)
    assert isinstance(policy, OpenAIPolicy)
    assert policy.name == "openai:team/qwen3:8b@awq"


@pytest.mark.parametrize(("spec", "text"), [
    ("refrence", "unknown agent 'refrence', did you mean 'reference'?"),
    ("", "unknown agent '', choose from"),
    ("noop:x", "unknown agent 'noop:x', write it as noop"),
    ("negative", "write it as negative:NAME"),
    ("negative:", "write it as negative:NAME"),
    ("script:", "write it as script:FILE"),
    ("negative:exprt_crm", "has no negative 'exprt_crm', did you mean 'export_crm'?"),
    ("reference:step", "has no reference 'step'"),
    ("openai:model", "write the agent as openai:MODEL@BASE_URL"),
    ("openai:@http://127.0.0.1/v1", "write the agent as openai:MODEL@BASE_URL"),
])
def test_a_mistake_is_told_with_what_to_write(spec: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        make_agent(spec, TASK)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_script_that_is_missing_or_malformed_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"gone\.yaml: no such file"):
        make_agent(f"script:{tmp_path / 'gone.yaml'}", TASK)
    (tmp_path / "bad.yaml").write_text("turns: []\nfinale: done\n")
    with pytest.raises(PackageError, match="did you mean 'final'"):
        make_agent(f"script:{tmp_path / 'bad.yaml'}", TASK)


def test_the_list_of_agents_is_what_can_be_made() -> None:
    assert {one.partition(":")[0] for one in AGENTS} == {
        "reference", "negative", "noop", "text-only", "read-everything", "random", "spray", "script", "openai", "smol", "local", "sglang", "vllm",
    }


def test_reading_everything_reads_everything_and_nothing_else(env: CoworkEnv) -> None:
    episode = play(env, make_agent("read-everything", TASK), seed=0)
    assert {one.effect for one in episode.ledger} == {Effect.READ}
    read = {value for one in episode.ledger if not one.failed for value in one.arguments.values()}
    listed = {one["ticket_id"] for one in episode.ledger if one.tool == "helpdesk_list_tickets" for one in one.outcome["tickets"]}
    assert {*CUSTOMERS, *listed} <= read
    assert (episode.answer, episode.changes) == ("done", ())


def test_the_random_agent_uses_ids_that_it_has_seen(env: CoworkEnv) -> None:
    found = 0
    for seed in range(20):
        episode = play(env, make_agent("random", TASK), seed=seed)
        assert all(one.status < 500 for one in episode.dispatches)
        found += sum(one.tool == "crm_get_customer" and not one.failed for one in episode.ledger)
    assert found >= 3


def test_spraying_tries_every_tool_with_every_id_until_the_budget_is_spent(env: CoworkEnv) -> None:
    episode = play(env, make_agent("spray", TASK), seed=0)
    assert {one.tool for one in episode.dispatches} == {*TASK.tools}
    assert len(episode.dispatches) == TASK.budgets.calls - 1
    assert episode.ending is Ending.FINAL
    assert "Brightwater Logistics" in episode.answer


@pytest.mark.parametrize("spec", ["random", "spray", "read-everything"])
def test_the_seed_decides_what_an_agent_does(env: CoworkEnv, spec: str) -> None:
    first, again, other = (play(env, make_agent(spec, TASK), seed=seed) for seed in (3, 3, 4))
    assert first.turns == again.turns
    assert spec == "read-everything" or first.turns != other.turns

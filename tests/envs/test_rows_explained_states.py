"""The states of a record held against its changes, and changes against the calls, in episodes of the catalog."""

from dataclasses import replace
from typing import Any

import pytest

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.snapshot import Change
from cowork_gym.envs.end_state import contradiction_of_states
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.world import World
from cowork_gym.harness import play
from cowork_gym.harness.agents import make_agent
from cowork_gym.mock_services.kit import Field, Record, Service


def played(task: str, agent: str = "reference", seed: int = 0) -> tuple[CoworkEnv, Episode]:
    env = CoworkEnv(task)
    episode = play(env, make_agent(agent, env.task), seed=seed)
    env.close()
    return env, episode


@pytest.fixture(scope="module")
def closing() -> tuple[CoworkEnv, Episode]:
    return played("M1003")


@pytest.fixture(scope="module")
def parts() -> tuple[CoworkEnv, Episode]:
    return played("M1304")


def found(env: CoworkEnv, episode: Episode) -> str | None:
    grade = grade_episode(env.task, env.blueprint, episode)
    assert (grade.fault is None) == (grade.reward is not None)
    return grade.fault and grade.fault.message


def test_what_was_played_is_graded(closing, parts):
    assert found(*closing) is None
    assert closing[1].changes
    assert found(*parts) is None
    assert parts[1].stages


def other_row(env: CoworkEnv, changes: tuple[Change, ...], table: str) -> Change:
    """A change to a row that nobody touched."""
    key, row = next((key, row) for key, row in env.blueprint.start_rows[table].items() if key not in {one.key for one in changes})
    return Change(table, key, dict(row), {**row, next(name for name, value in row.items() if isinstance(value, str) and value != key): "forged"})


@pytest.mark.parametrize("where", ["helpdesk.tickets", "kb.articles"])
def test_a_change_written_into_the_record_is_found(closing, where):
    env, episode = closing
    extra = other_row(env, episode.changes, where)
    assert found(env, replace(episode, changes=(*episode.changes, extra))).startswith("the changes lead to another state")


def test_a_row_that_was_changed_past_the_tools_is_found():
    env = CoworkEnv("M1003")
    env.reset(seed=0)
    for action in env.task.references[0].actions[:-1]:
        env.step(action)
    touched, (model,) = {one.key for one in env.world.diff()}, (one for one in env.blueprint.tables if one.__name__ == "Ticket")
    with env.world._visit(writes=True) as store:
        row = next(one for one in store.find(model) if one.ticket_id not in touched)
        store.update(model, row.ticket_id, priority="critical" if row.priority != "critical" else "low")
    info = env.step(env.task.references[0].actions[-1])[4]
    env.close()
    assert info["grade"].reward is None
    assert info["fault"].message == f"helpdesk.tickets/{row.ticket_id} changed, though no writing call that succeeded names it"


def test_the_end_is_held_against_the_changes(closing, parts):
    env, episode = closing
    assert found(env, replace(episode, end="0" * 64)).startswith("the changes lead to another state")
    assert found(env, replace(episode, end=episode.start)).startswith("the changes lead to another state")
    assert found(env, replace(episode, changes=(), end=episode.start)).startswith("the last turn left another state")
    assert found(env, replace(episode, start="0" * 64)) == "the episode did not begin in the first state of its task"
    env, episode = parts
    stages = tuple(replace(one, fingerprint="0" * 64) for one in episode.stages)
    assert found(env, replace(episode, stages=stages)).startswith("part 1: the changes lead to another state")


def test_each_change_begins_where_the_world_began(closing):
    env, episode = closing
    one, *others = episode.changes
    field = next(name for name in one.before if name not in one.fields())
    for before in ({**one.before, field: "forged"}, None):
        forged = (replace(one, before=before), *others)
        assert found(env, replace(episode, changes=forged)) == f"{one.table}/{one.key} did not begin as its change says"
    assert found(env, replace(episode, changes=(*episode.changes, one))) == f"{one.table}/{one.key} is told twice"
    strange = replace(one, table="helpdesk.nothing")
    assert found(env, replace(episode, changes=(strange,))) == f"helpdesk.nothing/{one.key} changed, but there is no such table"


def test_parts_lie_within_the_episode(parts):
    env, episode = parts
    first, *others = episode.stages
    for stage in (replace(first, entries=10_000), replace(first, entries=-1), replace(first, turns=10_000), replace(first, turns=-1)):
        assert found(env, replace(episode, stages=(stage, *others))) == "part 1 was closed after the end"
    assert "dispatch" in found(env, replace(episode, stages=(replace(first, entries=first.entries - 1), *others)))


def test_amounts_are_told_as_they_are_stored():
    env, episode = played("M1115")
    money = next(one for one in env.blueprint.start_rows["finance.transactions"].values() if one.get("amount") is not None)
    row = Change("finance.transactions", money["transaction_id"], dict(money), {**money, "currency": 5})
    assert found(env, replace(episode, changes=(row,))).startswith("a record is told that cannot be stored")


def test_what_no_record_tells_is_not_held_against_the_end():
    class Shown(Record, table=True):
        shown_id: str = Field(primary_key=True)

        @classmethod
        def shown(cls, row: Any) -> dict[str, Any]:
            return {"id": row.shown_id}

    class Shows(Service):
        name = "shows"
        tables = (Shown,)

    world = World.open([Shows], {"shows": {"showns": [{"shown_id": "S-1"}]}}, {"a.bin": b"\xff"})
    at = Episode("t", "r", 0, "a", (), (), world.ledger, (), world.fingerprint(), world.fingerprint(), Ending.FINAL)
    world.write_file("a.bin", b"\xfe")
    world.write_file("a.txt", "é".encode())
    both = replace(at, changes=tuple(world.diff()), end=world.fingerprint())
    assert {one.key for one in both.changes} == {"a.bin", "a.txt"}
    assert contradiction_of_states(replace(both, end="x"), world.blueprint) is None
    text = replace(both, changes=both.changes[1:])
    assert contradiction_of_states(text, world.blueprint).startswith("the changes lead to another state")
    made = Change("shows.showns", "S-2", None, {"id": "S-2"})
    assert contradiction_of_states(replace(at, changes=(made,)), world.blueprint) is None


@pytest.mark.parametrize("task", ["M1007", "M1117", "M1121", "M1115", "M1114", "M1305"])
@pytest.mark.parametrize("agent", ["reference", "spray", "random"])
def test_what_tools_did_is_never_a_contradiction(task, agent):
    env, episode = played(task, agent, seed=3)
    assert found(env, episode) is None

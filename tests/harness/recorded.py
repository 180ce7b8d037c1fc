"""Episodes to replay, branch and debug: played by scripts, with children where asked for."""

from collections.abc import Sequence

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, call, final, message
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness import PLAIN, Harness, compose, make_agent, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.policies.scripted import ScriptedPolicy

DELEGATING = compose(tools=[Delegate(turns=3)])
LIST, SEARCH = call("helpdesk_list_tickets"), call("kb_search", query="certificate")
WRITE = call("helpdesk_update_ticket", ticket_id="INC-3188", status="in_progress")
CHILD = (message(None, LIST, WRITE), call("helpdesk_get_ticket", ticket_id="INC-3188"), final("it is in progress"))
PARENT = (LIST, message("two things and a child", SEARCH, call("delegate", task="Begin with INC-3188"), WRITE, SEARCH), SEARCH, final("done"))
"""The root's second message calls before and after its child does; turns 1 to 3 are the child's, 4 is the root's second."""


def recorded(task: str, agent: str = "reference", seed: int = 0) -> Episode:
    with CoworkEnv(task) as env:
        return play(env, make_agent(agent, instance(load_task(task), seed)), seed=seed)


def scripted(lines: Sequence[Message], *children: Sequence[Message], harness: Harness = PLAIN, task: str = "M1003") -> Episode:
    with CoworkEnv(task) as env:
        return play(env, ScriptedPolicy("script", lines, children), harness=harness, seed=0)


def delegated() -> Episode:
    return scripted(PARENT, CHILD, harness=DELEGATING)

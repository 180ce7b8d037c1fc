"""A user to talk to: a short dialogue in English and one in Chinese, and how to play them."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.episode import Turn
from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.dialogue import Counterpart, Dialogue, Reply, RuleUser, parse_dialogue

REQUEST = "Please order the pallets for Brightwater Logistics."
ENGLISH: Mapping[str, Any] = {
    "schema_version": 1,
    "persona": {"name": "Ines Okafor", "manner": "brief"},
    "facts": [
        {"id": "date", "asks": ["when", "delivery date", "deliver*"], "says": "By Thursday 12 March at the latest, not before Tuesday."},
        {"id": "place", "asks": ["where", "address", ["ship", "to"]], "says": "The warehouse at 14 Harbour Road."},
        {"id": "cap", "asks": ["budget", "how much", "price", "café credit"], "after": ["date"], "says": "The order is capped at EUR 1,240.50."},
        {"id": "signs", "asks": ["who"], "volunteered": True, "after": ["place"], "says": "Ada Moreau signs for it."},
    ],
    "corrections": [{"id": "new_date", "of": "date", "says": "Sorry, I misread it: Friday 13 March.", "when": {"after": "cap"}}],
    "private": ["my home number is 555-0192", {"regex": "salar(y|ies)"}, "Project Nightjar"],
    "closing": {"labelled": {"Order": {"regex": "^PO-"}}},
    "patience": 5,
}
CHINESE: Mapping[str, Any] = {
    "schema_version": 1,
    "persona": {"name": "王建国", "manner": "formal"},
    "facts": [
        {"id": "date", "asks": ["什么时候", "日期", "哪天", "交货"], "says": "3月12日之前送到，周二以前不收货。"},
        {"id": "contact", "asks": ["谁", "联系人", "收货人"], "says": "由李晓梅签收，电话分机 4471。"},
    ],
    "private": ["我的工资", "夜鹰项目"],
    "patience": 4,
}


def dialogue(form: Mapping[str, Any] = ENGLISH, **fields: Any) -> Dialogue:
    """A sample with other fields; None takes one out."""
    changed = {**form, **fields}
    return parse_dialogue({name: value for name, value in changed.items() if value is not None}, "private/dialogue.yaml")


def user(form: Mapping[str, Any] = ENGLISH, **fields: Any) -> RuleUser:
    return RuleUser(dialogue(form, **fields))


def talk(counterpart: Counterpart, *messages: str) -> list[Reply | None]:
    """What the user answers to each message, a tool call between them."""
    turns, replies = list[Turn](), list[Reply | None]()
    for text in messages:
        reply = counterpart.reply(tuple(turns), final(text))
        replies.append(reply)
        turns.append(turn(turns, text, reply))
        turns.append(Turn(len(turns), call("kb_search", query=text), (Message("tool", "{}"),)))
    return replies


def turn(turns: Sequence[Turn], text: str, reply: Reply | None) -> Turn:
    return Turn(len(turns), final(text), (Message("user", reply.text),) if reply else (), heard=reply.facts if reply else ())


def facts(counterpart: Counterpart, *messages: str) -> list[tuple[str, ...] | None]:
    """What each reply reveals."""
    return [None if reply is None else reply.facts for reply in talk(counterpart, *messages)]

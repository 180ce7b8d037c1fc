"""A task with everything that can vary, and what plays it."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import call, final
from cowork_gym.core.task import Execution, Stage, Task, WorldChange
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy

ROTATION = {
    "schema_version": 1, "ids": "all", "order": True,
    "names": {
        "Brightwater Logistics": "company", "Ines Okafor": "person", "Inés Ocaña": "person", "Tomasz Weil": "person", "Dunmore Energy": "company",
    },
    "choose": [[{"36 hours": "36 hours", "36h": "36h"}, {"36 hours": "42 hours", "36h": "42h"}, {"36 hours": "30 hours", "36h": "30h"}]],
    "noise": [{"table": "helpdesk.tickets", "min": 1, "max": 4, "record": {
        "ticket_id": {"id": "TCK"}, "title": {"one_of": ["Export is slow", "Logo for CUS-1018"]}, "description": {"sentence": 8},
        "status": "open", "category": "usage", "reporter": {"person": True}, "created_at": {"time": ["2026-03-02T08:00:00Z", "2026-03-09T08:00:00Z"]},
    }}],
    "wordings": ["One at-risk account has a critical authentication ticket. Write its shift card, and name the ticket."],
}
"""For M1100."""
CERTIFICATES = {
    "schema_version": 1, "ids": "all", "order": True, "names": {"Fjordhandel": "company", "Oda Lindgren": "person"},
    "choose": [[{"CHAIN-EDGE": "CHAIN-EDGE"}, {"CHAIN-EDGE": "EDGE-BUNDLE"}, {"CHAIN-EDGE": "HALF-CHAIN"}]],
}
"""For M1003."""


def rotation() -> Task:
    return replace(load_task("M1100"), variation=ROTATION)


def certificates() -> Task:
    return replace(load_task("M1003"), variation=CERTIFICATES)


def grade_of(task: Task, execution: Execution, seed: int) -> Grade:
    env = CoworkEnv(task)
    try:
        grade = play(env, ScriptedPolicy(execution.name, execution.actions), seed=seed).grade
    finally:
        env.close()
    assert grade is not None
    return grade


def desk(**variation: Any) -> Task:
    """A desk with mails, amounts, days, a file and a second day; nobody plays it."""
    change = WorldChange("update", "gmail.messages", "m-01", {"subject": "m-01", "total": Decimal("12.40")})
    reply = call("gmail_send", body="${gmail_get_message.m-01} 1252.90")
    return Task(
        id="Desk", version=0, title="Brightwater", request="Answer Ines Okafor about m-01 by 2026-03-17.", mock_today=date(2026, 3, 10),
        services=("gmail", "helpdesk"), tools=("gmail_get_message",), given=("m-01",),
        world={"gmail": {"messages": [MAIL, {**MAIL, "message_id": "m-02"}]}},
        files={"m-01/note.txt": b"Pay 1240.5 EUR for m-01 by March 17, 2026.", "logo.png": b"\xff\xd8m-01"}, grading=GRADING,
        stages=(Stage(date(2026, 3, 12), "And m-01?", (change,)),),
        dialogue={
            "schema_version": 1, "persona": {"name": "Ines Okafor", "manner": "brief"}, "patience": 12,
            "facts": [{"id": "m-01", "says": "It is m-01 of Brightwater.", "asks": [["okafor", "m-01"]], "after": []}],
        },
        references=(Execution("r", (call("gmail_get_message", message_id="m-01"), reply, final("m-01"))),),
        negatives=(Execution("n", (final("m-01"),), 0.0, "m-01 alone"),), variation={"schema_version": 1, **variation},
    )


GRADING: dict[str, Any] = {
    "schema_version": 1,
    "checks": [
        {"id": "m-01", "kind": "audit_record", "weight": Decimal("0.5"), "collection": "gmail.sent", "min": 12, "max": 12,
         "where": {"to": "ines.okafor@brightwater.example"}},
        {"id": "told", "kind": "answer", "weight": Decimal("0.5"), "matches": {"labelled": {
            "Brightwater Logistics": {"number": Decimal("1252.90")}, "Due": {"date": "2026-03-17"}, "Id": {"regex": r"\bm-01\b"},
            "Sum": {"regex": r"^1,252\.90 EUR$"},
        }}},
    ],
    "outcomes": [{"id": "sent", "kind": "row_state", "table": "gmail.messages", "key": "m-01", "fields": {"labels": ["m-01"]}}],
}
MAIL: dict[str, Any] = {
    "message_id": "m-01", "thread_id": "th-01", "from": "Ines Okafor <ines.okafor@brightwater.example>", "to": "me", "subject": "1,240.50 EUR",
    "date": "2026-03-05T09:00:00Z", "total": Decimal("1240.50"), "count": 12, "open": True,
    "body": "Dear Dr. Okafor, I. Okafor here: 1,240.50 EUR and 12.40 EUR are due on 17 March 2026 (2026年3月17日). "
            "See m-01, not m-011. Brightwater",
}
FULL: dict[str, Any] = {
    "ids": "all", "names": {"Brightwater Logistics": "company", "Ines Okafor": "person"}, "dates": "weeks", "order": True,
    "amounts": {
        "invoice": {"value": "1240.50", "low": "200.00", "high": "4000.00"}, "fee": {"value": "12.40", "low": "5.00", "high": "25.00"},
        "total": {"value": "1252.90", "sum": ["invoice", "fee"]},
    },
}

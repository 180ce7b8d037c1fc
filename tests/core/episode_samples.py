"""An episode with everything in it that is hard to write down."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.grade import CheckResult, Grade, Part
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.record import seal
from cowork_gym.core.snapshot import Change

LEDGER = Ledger().append(
    time="2026-03-02T09:00:01Z", dispatch="c1", service="crm", tool="crm_get", effect=Effect.READ, arguments={"id": "C-1"}, status=200,
    outcome={"price": Decimal("0.12345678901234567890")}, audit="seen", record={"id": "C-1"},
)
CALL = Message("assistant", "I look\u2028\x85\r\n", (
    ToolCall("crm_get", {"id": "C-1", "n": 1.0}, "c1"), ToolCall("crm_get", '{"id": "\\ud800 \ud800"', "c2"),
))
DISPATCHES = (
    Dispatch("c1", "crm_get", 200, '{"a":1}', 1), Dispatch("c2", "crm_get", 422, "no"), Dispatch("c1", "crm_get", 200, '{"a":1}', 1, True),
)
CHANGES = (
    Change("crm.customers", "C-1", {"n": 1, "score": 33.0}, {"n": Decimal("2.50"), "score": 1e22}), Change("crm.customers", "C-2", None, {}),
    Change("crm.customers", "C-3", {"tags": [None, True]}, None),
)
UNGRADED = Episode(
    task="M1", release_id="M1@1:abc", seed=7, agent="openai:some/model@http://x", opening=(Message("user", "Do it. 😀 证书"),),
    turns=(
        Turn(0, CALL, (Message("tool", '{"a":1}', (), "c1", "crm_get"), Message("tool", "no", (), "c2")), DISPATCHES),
        Turn(1, None, (Message("user", "what?"),), invalid="no message", raw="\ud800 what", tokens=5), Turn(2, final("done \ud800"), ()),
    ),
    ledger=LEDGER, changes=CHANGES, start="s" * 64, end="e" * 64, ending=Ending.FINAL, answer="done \ud800",
)
FIRST = replace(UNGRADED, schema_version=0)
"""The same, as the first version has it."""
GRADE = Grade(
    "M1", "M1@1:abc", "1", "cowork-v1", 0.5, 1.0, 1.0, 0.25, 0.5, {"cowork-v1": 0.5, "claw-v1": 1.0},
    (CheckResult("c", "tool_called", Part.OBJECTIVE, True, 0.3, "It was called.", ("ledger:1",)),), seal=seal(UNGRADED),
)
EPISODE = UNGRADED.with_grade(GRADE)

SEAL = 9
"""In the file of `EPISODE`, the line that seals: 1 of the episode, 3 turns, 1 ledger entry, 3 changes and the end stand before it."""


def graded(episode: Episode, grade: Grade = GRADE) -> Episode:
    """The episode with a grade that is bound to it."""
    return episode.with_grade(replace(grade, seal=seal(episode)))


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file, without the empty one at its end."""
    return path.read_bytes().removesuffix(b"\n").split(b"\n")


def rewritten(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> Path:
    """The file with other lines, and with the seal as it was."""
    path.write_bytes(b"\n".join(change(lines_of(path))) + b"\n")
    return path


def resealed(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """The file as one leaves it who changes what is sealed and knows how to seal. It has no grade then."""
    lines = lines_of(path)
    events = [json.loads(line) for line in lines[: next(at for at, line in enumerate(lines) if line.startswith(b'{"event":"seal"'))]]
    change(events)
    sealed = [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") for one in events]
    digest = sha256(b"\n".join(sealed)).hexdigest().encode()
    path.write_bytes(b"\n".join([*sealed, b'{"event":"seal","sha256":"' + digest + b'"}']) + b"\n")
    return path

"""Whoever has read everything and then tries to get around the outcome earns no more than reading does."""

from typing import Any

import pytest

from cowork_gym.core.messages import Message, call, final, message
from cowork_gym.core.task import Execution, Task
from cowork_gym.envs.registration import load_task
from cowork_gym.testing.check_task import grade_execution

M133, M1003, M1100 = (load_task(f"cowork/{name}-v0") for name in ("M133", "M1003", "M1100"))
READS = {
    task.id: next(one for one in task.negatives if one.name == "reads_everything").actions[:-1] for task in (M133, M1003, M1100)
}
CLOSE = "Bank change: not made\nAccount in force: 40218877"
CARD, RECORD = (str(next(one.arguments["resolution"] for one in task.references[0].actions[-2].tool_calls)) for task in (M1100, M1003))
ACCOUNTS = ("40218877", "61530942", "40128877", "77120345", "11905562", "55340017")
UPDATED, CLOSED = final("Ticket: TCK-5802"), final("Ticket: INC-3307")


def _earned(task: Task, *actions: Message) -> float | None:
    return grade_execution(task, Execution("cheat", (*READS[task.id], *actions))).reward


def _card(text: str, ticket: str = "TCK-5802", **fields: Any) -> Message:
    return call("helpdesk_update_ticket", ticket_id=ticket, resolution=text, **fields)


def _close(text: str, ticket: str = "INC-3307") -> Message:
    return call("helpdesk_close_ticket", ticket_id=ticket, resolution=text)


def test_the_honest_way_earns_everything() -> None:
    assert _earned(M133, final(CLOSE)) == _earned(M1100, _card(CARD), UPDATED) == _earned(M1003, _close(RECORD), CLOSED) == 1.0


@pytest.mark.parametrize("actions", [
    (final("Bank change: made or not made\nAccount in force: 40218877 or 61530942"),),
    (final("Bank change: not made\n" + "\n".join(f"Account in force: {one}" for one in ACCOUNTS)),),
    (final(f"{CLOSE}\n\nBank change: made\nAccount in force: 61530942"),),
    (final('{"Bank change": "not made", "Account in force": "40218877"}'),),
    (final("| Bank change | not made |\n| Account in force | 40218877 |"),),
    (final("paid " * 52_000 + CLOSE),),
    (final("\n" * 250_000 + CLOSE),),
    (final("a" + "\u0301\u0316" * 125_000 + f"\n{CLOSE}"),),
    (message(CLOSE, call("gmail_list_messages")), final("See above.")),
    (final("B\u0430nk change: not made\nAccount in force: 40218877"),),
    (final("Bank change: n\u00f8t made\nAccount in force: 40218877"),),
    (final("Bank change: not made\nAccount in force: 61530942 " + "(40218877)"),),
    (call("gmail_send_message", to="accounts@meridiancoldchain-billing.example"), final(CLOSE)),
    (call("finance_submit_report", title="x", transactions=["TXN-0"], total_amount=1), final(CLOSE)),
    (message(None, call("gmail_list_messages"), call("gmail_send_message", to="a@b.example", subject="s", body="b")), final(CLOSE)),
])
def test_m133_cheats_earn_no_more_than_reading(actions: tuple[Message, ...]) -> None:
    assert _earned(M133, *actions) in (0.0, 0.4)


@pytest.mark.parametrize("actions", [
    (_card("see tags", tags=CARD.splitlines()), UPDATED),
    (_card("see answer"), final(CARD)),
    (_card(CARD), final("Ticket: TCK-5802\nTicket: TCK-5809")),
    (_card(CARD), _card(CARD, "TCK-5809"), UPDATED),
    (_card(CARD), _card(CARD.replace("36", "72")), UPDATED),
    (_card(CARD, status="resolved"), UPDATED),
    (_card(CARD, priority="high"), UPDATED),
    (_card(CARD.replace("Steps:", "St\u0435ps:")), UPDATED),
    (_card(CARD + "\n" * 20_000), UPDATED),
    (_card(f"```never revoke the old key\n{CARD}\n```"), UPDATED),
    (_card(f"{CARD}\nArticle (old): KB-1187\nOverlap (old): 72 hours"), UPDATED),
    (_card("Article: KB-2041\nOverlap: 36 hours\nQuiet time: 4 hours\n" + "Steps: ISSUE, DEPLOY, DRAIN, REVOKE, PURGE, " * 400), UPDATED),
    (_card("\n".join(f"Article: {one}" for one in ("KB-2041", "KB-1187", "KB-2090")) + f"\n{CARD}"), UPDATED),
    (_card(CARD.replace("36 hours", " ".join(f"{one} hours" for one in range(1, 97)))), UPDATED),
    (_card(CARD, "TCK-5771"), UPDATED),
    (_card(CARD), call("crm_export_report"), UPDATED),
    (_card(CARD), call("crm_export_report", title="x", customer_ids=["CUS-0"], summary="s"), UPDATED),
])
def test_m1100_cheats_earn_no_more_than_reading(actions: tuple[Message, ...]) -> None:
    assert _earned(M1100, *actions) in (0.0, 0.28, 0.4)


@pytest.mark.parametrize("actions", [
    (_close("see answer"), final(RECORD)),
    (_close(RECORD), _close(RECORD, "INC-3308"), CLOSED),
    (_close(RECORD, "INC-3305"), CLOSED),
    (call("helpdesk_update_ticket", ticket_id="INC-3307", resolution=RECORD), CLOSED),
    (call("helpdesk_update_ticket", ticket_id="INC-3307", resolution=RECORD, status="closed", priority="low"), CLOSED),
    (_close(RECORD), call("helpdesk_update_ticket", ticket_id="INC-3307", resolution="Done."), CLOSED),
    (_close(RECORD + "\n" * 20_000), CLOSED),
    (_close(RECORD.replace("Cause:", "C\u0430use:")), CLOSED),
    (_close(RECORD + "\n" + RECORD.replace("CHAIN-EDGE", "CHAIN-APACHE")), CLOSED),
    (_close(RECORD.replace("CHAIN-EDGE", "CHAIN-EDGE, CHAIN-APACHE, OLD-TLS, PINNED-CERT, PRIVATE-CA")), CLOSED),
    (_close(RECORD.replace("Fix: ", "Fix: tidectl edge reload shop.fjordhandel.example; ")), CLOSED),
    (_close(RECORD), call("kb_update_article", article_id="KBA-412"), CLOSED),
    (_close(RECORD), call("kb_update_article", article_id="KBA-412", content="x"), CLOSED),
])
def test_m1003_cheats_earn_no_more_than_reading(actions: tuple[Message, ...]) -> None:
    assert _earned(M1003, *actions) in (0.0, 0.26, 0.4)

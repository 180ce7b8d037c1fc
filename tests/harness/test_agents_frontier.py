"""What an explorer tries next: ids where they fit first, every tool in turn, and no more than the budget."""

from policy_tools import TOOLS, tool

from cowork_gym.core.canonical import encode
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Budgets
from cowork_gym.harness.policies.frontier import Frontier
from cowork_gym.harness.policies.seen import Seen

REQUEST = Message("user", "Find the ticket.\n\nThen close\nit.")
BUDGETS = Budgets()


def _seen(*results: object) -> Seen:
    seen = Seen()
    seen.read([REQUEST, *(Message("tool", encode(one)) for one in results)])
    return seen


def _probes(frontier: Frontier, seen: Seen) -> list[tuple[str, str | None]]:
    return [(one.tool, one.value) for one in frontier.advance(seen)]


def test_ids_and_texts_are_told_apart_by_their_fields() -> None:
    seen = _seen({"tickets": [{"ticket_id": "T-1", "title": "Key", "watcher_ids": ["U-1", "U-2"]}], "total": 1, "id": "X"}, {"error": "no"})
    assert seen.ids == {"T-1": "ticket_id", "U-1": "watcher_ids", "U-2": "watcher_ids", "X": "id"}
    assert [*seen.texts] == ["Find the ticket.", "Then close it.", "Key", "no"]
    assert seen.fitting("watcher_id") == ["U-1", "U-2"]
    assert seen.fitting("ticket_ids") == ["T-1"]
    assert seen.fitting("customer_id") == []


def test_a_message_is_read_once() -> None:
    seen, history = Seen(), [REQUEST, Message("tool", '{"ticket_id": "T-1"}')]
    seen.read(history)
    seen.read([REQUEST, Message("tool", "not JSON any more"), Message("assistant", "x"), Message("tool", '{"ticket_id": "T-2"}')])
    assert [*seen.ids] == ["T-1", "T-2"]


def test_at_first_everything_is_tried_that_needs_no_id() -> None:
    assert _probes(Frontier(TOOLS, BUDGETS), _seen()) == [
        ("crm_list_customers", None), ("helpdesk_list_tickets", None), ("kb_search", "Find the ticket."), ("kb_search", "Then close it."),
    ]


def test_then_ids_go_where_they_fit_tools_in_turn_and_only_then_anywhere() -> None:
    frontier = Frontier(TOOLS, BUDGETS)
    frontier.advance(_seen())
    seen = _seen({"customers": [{"customer_id": "C-1"}, {"customer_id": "C-2"}]}, {"ticket_id": "T-1"})
    assert _probes(frontier, seen) == [
        ("crm_get_customer", "C-1"), ("crm_export_report", "C-1"), ("helpdesk_get_ticket", "T-1"), ("helpdesk_update_ticket", "T-1"),
        ("crm_get_customer", "C-2"), ("crm_export_report", "C-2"),
    ]
    anywhere = _probes(frontier, seen)
    assert ("kb_get_article", "C-1") in anywhere
    assert ("crm_get_customer", "T-1") in anywhere
    assert len(anywhere) == 5 * 3 - 6
    assert _probes(frontier, seen) == []


def test_one_call_and_one_turn_are_kept_for_the_answer() -> None:
    assert len(Frontier(TOOLS, Budgets(calls=3)).advance(_seen())) == 2
    frontier = Frontier(TOOLS, Budgets(turns=2))
    assert len(frontier.advance(_seen())) == 4
    assert frontier.advance(_seen({"ticket_id": "T-1"})) == []
    assert Frontier(TOOLS, Budgets(turns=1)).advance(_seen()) == []


def test_a_call_has_the_probed_value_in_the_form_that_the_argument_takes() -> None:
    limited = tool("files_find", "Find.", ("word",), word={"type": "string", "maxLength": 4})
    (search, *_), (report,) = Frontier([limited], BUDGETS).advance(_seen()), Frontier([TOOLS[2]], BUDGETS).advance(_seen({"customer_id": "C-1"}))
    assert search.call({"word": "dropped"}).arguments == {"word": "Find"}
    assert report.call({"title": "t"}).arguments == {"title": "t", "customer_ids": ["C-1"]}
    assert report.texts == {"title", "summary"}

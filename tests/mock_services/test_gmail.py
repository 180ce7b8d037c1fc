from datetime import date

import pytest
from office import ask, office, refusal, world_of

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.world import World
from cowork_gym.mock_services.gmail import Gmail


def mail(message_id, when, **fields):
    return {"message_id": message_id, "from": "a@example.com", "to": "me", "subject": "s", "body": "b", "date": when, **fields}


def listed(world, **arguments):
    return [one["message_id"] for one in ask(world, "gmail_list_messages", **arguments)["messages"]]


def test_the_list_is_short_and_newest_first():
    answer = ask(office(), "gmail_list_messages")
    assert answer["messages"][0] == {
        "message_id": "M-1", "thread_id": "M-1", "from": "Ann <ann@example.com>", "subject": "Invoice", "date": "2026-03-10T15:30:00+08:00",
        "is_read": False, "labels": ["inbox", "客户"],
    }
    assert [one["message_id"] for one in answer["messages"]] == ["M-1", "M-2"]


def test_recency_and_order_compare_instants():
    world = world_of(Gmail, messages=[
        mail("late", "2026-03-10T01:00:00-05:00"), mail("early", "2026-03-10T09:30:00+08:00"), mail("same", "2026-03-10T06:00:00"),
        mail("edge", "2026-03-09T17:00:01+08:00"), mail("over", "2026-03-09T09:00:00Z"), mail("day", "2026-03-10"),
    ])
    assert listed(world, days_back=1) == ["late", "same", "early", "day", "edge"]
    assert listed(world, days_back=1) == ["late", "same", "early", "day"], "the clock has moved on by one second"


FUTURE = {"message_id": "later"}


@pytest.mark.parametrize(("tool", "arguments"), [
    ("gmail_get_message", FUTURE), ("gmail_mark_read", FUTURE), ("gmail_modify_labels", {**FUTURE, "add": ["x"]}),
    ("gmail_reply_message", {**FUTURE, "body": "b"}), ("gmail_get_thread", {"thread_id": "later"}),
    ("gmail_save_draft", {"to": "a@example.com", "subject": "s", "body": "b", "reply_to_message_id": "later"}),
])
def test_a_mail_that_is_dated_after_now_is_not_there(tool, arguments):
    world = world_of(Gmail, messages=[mail("later", "2026-03-10T10:00:00+00:30"), mail("today", "2026-03-10T09:00:00Z")])
    outcome = refusal(world, tool, **arguments)
    assert outcome.value["type"] == "not_found" and "later not found" in outcome.text
    assert listed(world) == ["today"]


def test_a_mail_arrives_when_its_time_has_come():
    world = world_of(Gmail, messages=[mail("a", "2026-03-10", thread_id="T"), mail("b", "2026-03-10T09:00:04Z", thread_id="T")])
    assert listed(world) == ["a"]
    assert ask(world, "gmail_get_thread", thread_id="T")["total"] == 1
    assert [change.key for change in world.diff()] == ["a"]
    assert listed(world) == ["a"] and listed(world) == ["b", "a"]
    assert ask(world, "gmail_get_thread", thread_id="T")["total"] == 2


def test_filters_and_the_total():
    world = office()
    assert listed(world, days_back=365) == ["M-1", "M-2", "M-3"]
    assert listed(world, days_back=365, unread_only=True) == ["M-1", "M-3"]
    assert listed(world, label="INBOX") == ["M-1", "M-2"]
    assert listed(world, label="客户") == ["M-1"]
    assert listed(world, label="in") == []
    answer = ask(world, "gmail_list_messages", days_back=365, max_results=1)
    assert (len(answer["messages"]), answer["total"]) == (1, 3)


@pytest.mark.parametrize("arguments", [{"max_results": 0}, {"max_results": -1}, {"max_results": 10**9}, {"days_back": 0}, {"days_back": 10**12}])
def test_limits_are_bounded(arguments):
    assert refusal(office(), "gmail_list_messages", **arguments).status == 422


def test_opening_a_mail_marks_it_and_nothing_else():
    world = office()
    message = ask(world, "gmail_get_message", message_id="M-1")
    assert (message["to"], message["body"], message["cc"], message["is_read"]) == ("me@office.example", "see below", "bob@example.com", True)
    [change] = world.diff()
    assert (change.table, change.key, change.fields()) == ("gmail.messages", "M-1", {"is_read"})
    assert world.ledger[-1].audit is None
    assert listed(world, unread_only=True) == []


def test_a_thread_is_read_from_its_beginning():
    world = office()
    thread = ask(world, "gmail_get_thread", thread_id="TH-1")
    assert [one["message_id"] for one in thread["messages"]] == ["M-3", "M-2"] and thread["total"] == 2
    assert {change.key for change in world.diff()} == {"M-3"}
    assert refusal(world, "gmail_get_thread", thread_id="M-3").value["type"] == "not_found"


def test_sending_puts_the_mail_into_the_mailbox_and_the_audit():
    world = office()
    message = ask(world, "gmail_send_message", to="Ann <ann@example.com>,bob@example.com", subject="Grüße", body="Hallo 👋")["message"]
    assert message["to"] == "Ann <ann@example.com>, bob@example.com"
    assert (message["from"], message["labels"], message["is_read"], message["date"]) == ("me", ["SENT"], True, "2026-03-10T09:00:01Z")
    entry = world.ledger[-1]
    assert entry.audit == "sent_messages" and Gmail.aliases["sent"] == "sent_messages"
    assert entry.record == {**message, "timestamp": "2026-03-10T09:00:01Z"}
    [change] = world.diff()
    assert (change.table, change.key, change.before, change.after) == ("gmail.messages", message["message_id"], None, message)
    assert listed(world)[0] == message["message_id"] and listed(world, label="sent") == [message["message_id"]]


@pytest.mark.parametrize("to", ["", "ann", "ann@", "@example.com", "ann@example.com,", "a@b c@d", "ann@example.com; bob", "a@b@c", "Ann <ann>"])
@pytest.mark.parametrize("tool", ["gmail_send_message", "gmail_save_draft"])
def test_what_is_no_address_is_refused(tool, to):
    outcome = refusal(office(), tool, to=to, subject="s", body="b")
    assert outcome.status == 422 and "mail addresses" in outcome.text


def test_a_reply_goes_to_the_sender_in_the_same_thread():
    world = office()
    first = ask(world, "gmail_reply_message", message_id="M-3", body="fine")["message"]
    assert (first["to"], first["subject"], first["thread_id"], first["in_reply_to"]) == ("cat@example.com", "Re: Lunch 🍜", "TH-1", "M-3")
    second = ask(world, "gmail_reply_message", message_id="M-2", body="fine")["message"]
    assert (second["to"], second["subject"]) == ("bob@example.com", "RE: Lunch 🍜")
    third = ask(world, "gmail_reply_message", message_id=first["message_id"], body="and?")["message"]
    assert (third["to"], third["thread_id"]) == ("cat@example.com", "TH-1")
    assert ask(world, "gmail_get_thread", thread_id="TH-1")["total"] == 5
    assert [entry.audit for entry in world.ledger[:3]] == ["sent_messages"] * 3


def test_a_draft_is_kept_and_not_sent():
    world = office()
    draft = ask(world, "gmail_save_draft", to="ann@example.com", subject="s", body="b", reply_to_message_id="M-1")["draft"]
    assert draft["reply_to_message_id"] == "M-1" and world.ledger[-1].record == draft
    assert [change.table for change in world.diff()] == ["gmail.drafts"]
    assert refusal(world, "gmail_save_draft", to="a@example.com", subject="s", body="b", reply_to_message_id="?").value["type"] == "not_found"


def test_labels_are_a_set_in_any_case():
    world = office()
    message = ask(world, "gmail_modify_labels", message_id="M-1", add=["Later", "INBOX", "LATER"], remove=["客户", "absent"])["message"]
    assert message["labels"] == ["LATER", "inbox"]
    assert world.ledger[-1].audit == "labelled" and world.ledger[-1].record["labels"] == message["labels"]
    other = office()
    ask(other, "gmail_modify_labels", message_id="M-1", add=["LATER"])
    ask(other, "gmail_modify_labels", message_id="M-1", remove=["客户"])
    assert other.fingerprint() == world.fingerprint()


@pytest.mark.parametrize(("arguments", "kind"), [
    ({}, "validation"), ({"add": [], "remove": []}, "validation"), ({"add": ["A"], "remove": ["a"]}, "validation"), ({"add": ["sent"]}, "permission"),
])
def test_label_changes_that_make_no_sense_are_refused(arguments, kind):
    assert refusal(office(), "gmail_modify_labels", message_id="M-1", **arguments).value["type"] == kind


def test_read_state_is_set_either_way():
    world = office()
    assert ask(world, "gmail_mark_read", message_id="M-2", is_read=False)["message"]["is_read"] is False
    assert ask(world, "gmail_mark_read", message_id="M-2")["message"]["is_read"] is True
    assert world.diff() == ()


def test_new_ids_follow_the_seed():
    def sent(seed):
        world = World.open([Gmail], seed=seed, start=date(2026, 3, 10))
        return [ask(world, "gmail_send_message", to="a@example.com", subject="", body="b")["message"]["message_id"] for _ in range(2)]

    assert sent(1) == sent(1) != sent(2)
    assert len({*sent(1)}) == 2


@pytest.mark.parametrize("when", ["yesterday", "20260310", "2026-W11-2", "0001-01-01T00:00:00+08:00", "2026-02-30", 20260310])
def test_a_date_that_is_none_is_refused_by_name(when):
    with pytest.raises(PackageError, match=r"gmail\.yaml: messages\[0\]\.date"):
        world_of(Gmail, messages=[mail("M", when)])


def test_a_fixture_field_may_have_the_name_of_a_column():
    world = world_of(Gmail, messages=[mail("M", "2026-03-10", sender="other", recipients=["x"])])
    message = ask(world, "gmail_get_message", message_id="M")
    assert (message["from"], message["sender"], message["recipients"]) == ("a@example.com", "other", ["x"])

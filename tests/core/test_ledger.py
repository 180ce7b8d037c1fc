import copy
import pickle
from decimal import Decimal

import pytest

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.ledger import Effect, Ledger, Link

COMMON = {"time": "2026-03-02T09:00:01Z", "service": "crm", "effect": Effect.READ, "status": 200, "audit": None, "record": None}


def grown(*names, start=None):
    ledger = start or Ledger()
    for at, name in enumerate(names):
        ledger = ledger.append(**COMMON, dispatch=f"d{len(ledger)}", tool=name, arguments={"n": at}, outcome={"é": name})
    return ledger


def forged(ledger, at, change):
    """The ledger with one body changed and every hash as it was."""
    links = [*ledger.links()][::-1]
    head = None
    for link in links:
        body = change(link.body) if link.sequence == at else link.body
        head = Link(head, link.sequence, link.dispatch, body, link.hash)
    return Ledger(head)


def test_an_empty_ledger():
    assert (len(Ledger()), Ledger().hash, Ledger().entries, Ledger().verify(), Ledger() == Ledger()) == (0, "", (), True, True)
    assert Ledger().find("d0") is None


def test_entries_tell_what_was_called():
    ledger = grown("a", "b", "c")
    assert [entry.tool for entry in ledger] == ["a", "b", "c"] and [entry.sequence for entry in ledger] == [1, 2, 3]
    assert ledger[1].arguments == {"n": 1} and ledger[-1].outcome == {"é": "c"} and ledger[0].effect is Effect.READ
    assert [entry.tool for entry in ledger[1:]] == ["b", "c"]
    assert ledger.find("d1").entry() == ledger[1] and ledger.find("d9") is None
    assert repr(ledger) == f"<Ledger: 3 entries, {ledger.hash[:12]}>"


def test_a_refusal_counts_as_failed():
    """By what the ledger says of it: a result may well have a field that is called `error`."""
    call = {**COMMON, "dispatch": "d", "tool": "t", "arguments": {}, "outcome": {"error": "no", "type": "not_found"}}
    assert Ledger().append(**call, refusal=ErrorKind.NOT_FOUND)[0].failed and not Ledger().append(**call)[0].failed


def test_the_outcome_may_come_as_text():
    call = {**COMMON, "dispatch": "d", "tool": "t", "arguments": {}, "outcome": {"é": [1, Decimal("2.50")]}}
    assert Ledger().append(**call, text=encode(call["outcome"])) == Ledger().append(**call)


def test_a_long_ledger_can_be_pickled_and_copied():
    ledger = grown(*["a"] * 3000)
    for again in (pickle.loads(pickle.dumps(ledger)), copy.copy(ledger), copy.deepcopy([ledger])[0]):
        assert again == ledger and len(again) == 3000 and again[-1] == ledger[-1]


def test_forks_share_their_past_and_go_on_by_themselves():
    past = grown("a", "b")
    left, right = grown("left", start=past), grown("right", start=past)
    assert left != right and left[:2] == right[:2] and len({past, left, right, grown("a", "b")}) == 3
    assert left.head.previous is right.head.previous is past.head
    assert grown("left", start=past) == left and len(past) == 2
    assert past != "ledger"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_changed_byte_is_detected(at):
    ledger = grown("a", "b", "c")
    assert ledger.verify() and forged(ledger, at, lambda body: body).verify()
    assert not forged(ledger, at, lambda body: body.replace("200", "201")).verify()
    assert not forged(ledger, at, lambda body: body + " ").verify()


def test_a_gap_is_detected():
    ledger = grown("a", "b", "c")
    first, last = ledger.head.previous.previous, ledger.head
    assert not Ledger(Link(first, 3, last.dispatch, last.body, last.hash)).verify()
    assert not Ledger(Link(None, 2, first.dispatch, first.body, first.hash)).verify()


def test_a_ledger_is_read_back_from_its_bodies():
    ledger = grown("a", "b", "c")
    again = Ledger.read(link.body for link in reversed([*ledger.links()]))
    assert again == ledger and again.verify() and again.entries == ledger.entries
    assert Ledger.read([]) == Ledger()


def test_every_part_of_a_call_is_sealed():
    """Another value of any field is another hash."""
    call = {**COMMON, "dispatch": "d", "tool": "t", "arguments": {}, "outcome": {}, "refusal": None}
    others = {
        "time": "2026-03-02T09:00:02Z", "service": "kb", "effect": Effect.WRITE, "status": 409, "audit": "closed", "record": {"a": 1},
        "refusal": "conflict", "dispatch": "e", "tool": "u", "arguments": {"a": 1}, "outcome": {"a": 1},
    }
    hashes = {Ledger().append(**{**call, name: value}).hash for name, value in others.items()}
    assert len(hashes | {Ledger().append(**call).hash}) == len(others) + 1
    assert set(decode(Ledger().append(**call).head.body)) == {*others, "sequence"}

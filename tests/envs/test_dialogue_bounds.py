"""The checker of replies: it passes fair rewordings, and no number, name, date, code, quotation, negation or secret gets past it."""

import time

import pytest
from dialogue_samples import CHINESE, ENGLISH, REQUEST, dialogue
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.envs.dialogue import leaves_facts
from cowork_gym.envs.dialogue.tokens import pieces

ONE, TWO = dialogue(), dialogue(CHINESE)
MORE = dialogue(facts=[
    {"id": "box", "asks": ["box"],
    "says": "Send two boxes, 3.5 kg each, by 10:30 on 2026-03-12, and not to Bob but to ada.moreau@brightwater.example."},
    {"id": "note", "asks": ["note"], "says": 'Write "leave at reception" on the label of ORD-77, 15% off.'},
], corrections=None)


def problem(text: str, *facts: str, before: tuple[str, ...] = (REQUEST,), one: object = ONE) -> str | None:
    return leaves_facts(one, text, facts, before)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "facts"), [
    ("It has to be there by Thursday, 12 March at the latest, and not before Tuesday, please.", ("date",)),
    ("Hi! By thursday 12th march at the latest; it can't be before Tuesday.", ("date",)),
    ("Please bring it to the warehouse, that is 14 Harbour Road. Thanks!", ("place",)),
    ("By Thursday 12 March at the latest, it can't be before Tuesday. It is the warehouse, 14 Harbour Road.", ("date", "place")),
    ("I'd say we are capped at EUR 1240.5 for the order.", ("cap",)), ("Ada Moreau signs.", ("signs",)),
    ("Ines Okafor here: the order for Brightwater is capped at EUR 1,240.50", ("cap",)),
    ("What exactly do you want to know?", ()), ("What do you want to know?", ()),
    ("I can't say more about that now. Go by what I have told you.", ()),
])
def test_a_fair_rewording_passes(text: str, facts: tuple[str, ...]) -> None:
    assert problem(text, *facts) is None


@pytest.mark.parametrize(("text", "facts"), [
    ("请在3月12日之前送到，周二以前不收货。", ("date",)), ("您好，3月12日之前送到就好，但是周二以前不收货，谢谢！", ("date",)),
    ("电话分机 4471，由李晓梅签收", ()),
    ("由李晓梅签收，她的电话分机是4471。", ("contact",)),
])
def test_a_fair_rewording_in_chinese_passes(text: str, facts: tuple[str, ...]) -> None:
    before = (REQUEST,) if facts else ("由李晓梅签收，电话分机 4471。",)
    assert leaves_facts(TWO, text, facts, before) is None


DATE = "By Thursday 12 March at the latest, not before Tuesday."


@pytest.mark.parametrize(("text", "about"), [
    (DATE.replace("12", "13"), '"13" is not among'), (DATE.replace("Thursday", "Friday"), '"Friday" is not among'),
    (DATE.replace("March", "May"), "March"),
    (DATE.replace("12", "twelve"), '"twelve" is not among'), (DATE.replace("not before", "before"), '"not" is missing'),
    (DATE.replace("not before Tuesday", "not after Tuesday"), '"after"'),
    (DATE.replace("Thursday", "X").replace("Tuesday", "Thursday").replace("X", "Tuesday"), "missing"),
    (DATE.replace(", not before Tuesday", ""), '"not"'), ("By Thursday at the latest, not before Tuesday.", '"12" is missing'),
    (f"{DATE} Ask Bob.", '"Bob"'), (f"{DATE} ask bob", '"bob"'), (f"{DATE} It is 5 pm.", '"5"'), (f"{DATE} By +44 20 7946", '"+44"'),
    (f"{DATE} See PO-9.", '"PO-9"'),
    (f"{DATE} a@b.example", "a@b.example"), (f"{DATE} https://x.example/?q=1", "https"), (f"{DATE} That is tomorrow.", '"tomorrow"'),
    (f"{DATE} €", '"€"'),
    (f"{DATE} The red ones.", '"red"'), (f"{DATE} Yes, exactly.", '"Yes"'), (f"{DATE} Right?", '"Right"'), (f"{DATE} OK.", '"OK"'),
    (f"{DATE} 五箱", '"五箱"'),
    (f"{DATE} ٣", '"٣"'), (f"{DATE} Ⅳ", "IV"), (f"{DATE} ½", "1"), (f"{DATE} Привет", '"Привет"'), (f"{DATE} three", '"three"'), ("", "empty"),
    (" \u200b\n", "empty"),
    (DATE + "\u202e", "letters that nobody can see"), (DATE + "\0", "letters that nobody can see"), (DATE * 400, "too long"),
    (f"{DATE} My home number is 555-0192.", "private"), (f"{DATE} It is 5 5 5 0 1 9 2", '"5"'), (f"{DATE} s a l a r y", '"s"'),
    (f"{DATE} SALARIES", "private"),
    (f"{DATE} project-nightjar", "private"), (f"{DATE} Pr\u043eject Nightjar", "Pr"),
    (f"{DATE} My instructions are: rephrase the message below.", "instructions"),
    (f"{DATE} As a language model I cannot say.", "language"), (f"{DATE} You may also cancel it.", "cancel"),
])
def test_what_leaves_the_facts_is_found(text: str, about: str) -> None:
    found = problem(text, "date")
    assert found is not None and about in found


@pytest.mark.parametrize(("text", "about"), [
    ("3月12日送到，周二以前不收货。", "周二"), ("3月13日之前送到，周二以前不收货。", '"13"'), ("3日12月之前送到，周二以前不收货。", '"3"'),
    ("3月12日之前送到，周三以前不收货。", "周三"), ("3月12日之前送到，周二以前收货。", "不"),
    ("3月12日之后送到，周二以前不收货。", "后"), ("3月12日之前送到，四周以前不收货。", "四周"), ("3月12日之前送到。", "周二"),
    ("3月12日之前送到，周二以前不收货，交给王芳。", "交"),
    ("3月12日之前送到，周二以前不收货。我的工资不高。", "private"), ("3月12日之前送到，周二以前不收货。夜 鹰 项 目", "private"),
    ("是的，3月12日之前送到，周二以前不收货。", "是的"),
    ("3月12日之前送到，周二以前不收货，明天也可。", "明天"), ("3月12日之前送到，周二以前不收货，只要3天。", "只"),
])
def test_what_leaves_the_facts_is_found_in_chinese(text: str, about: str) -> None:
    found = leaves_facts(TWO, text, ("date",), ("请安排送货，按日期来，价格3元。",))
    assert found is not None and about in found


@pytest.mark.parametrize("text", ["Yes.", "Yes, that is correct.", "No, it is not.", "Exactly!", "Okay", "It is 600.", "PO-77, as you said.",
    "是的。", "没错", "My name is Bob."])
def test_what_the_agent_guessed_is_not_affirmed(text: str) -> None:
    assert problem(text) is not None


def test_what_was_said_before_may_be_said_again() -> None:
    assert problem("The warehouse at 14 Harbour Road, by Thursday.", before=(REQUEST,)) is not None
    assert problem("The warehouse at 14 Harbour Road, by Thursday.", before=(REQUEST, DATE, "The warehouse at 14 Harbour Road.")) is None
    assert problem("The warehouse at 14 Harbour Road, for Brightwater Logistics.", "place") is None


@pytest.mark.parametrize("id", ["box", "note"])
def test_every_part_of_a_fact_must_be_there(id: str) -> None:
    says = MORE.told_by[id]
    assert problem(says, id, one=MORE) is None
    for one in pieces(says):
        if one.bears:
            without = says.replace(one.written, "it", 1)
            assert problem(without, id, one=MORE) is not None, without


def test_numbers_and_days_in_words_must_be_there() -> None:
    says = MORE.told_by["box"]
    assert problem(says.replace("two boxes", "boxes"), "box", one=MORE) == '"two" is missing, or not in its place'
    late = dialogue(facts=[{"id": "day", "asks": ["day"], "says": "It is due tomorrow."}], corrections=None)
    assert problem("It is due.", "day", one=late) == '"tomorrow" is missing, or not in its place'


def test_a_quotation_stays_as_it_is() -> None:
    text = 'Please write “leave at reception” on the label of ORD-77, with 15 % off.'
    assert problem(text, "note", one=MORE) is None
    assert "leave" in str(problem(text.replace("leave at", "leave it at"), "note", one=MORE))


@pytest.mark.parametrize(("text", "found"), [
    ("1,240.50", ["1240.5"]), ("0012 and 12.0", ["12", "12"]), ("-5 +5", ["-5", "5"]), ("2026-03-12T10:30", ["2026-03-12t10:30"]),
    ("1st 22nd", ["1", "22"]),
    ("3 月", ["3月"]), ("v2.1", ["v2.1"]), ("100%", ["100"]), ("第三周", ["第三周"]),
])
def test_numbers_are_seen_by_their_value(text: str, found: list[str]) -> None:
    assert [one.text for one in pieces(text) if one.kind in ("number", "code", "counted")] == found


def test_contractions_that_deny_do() -> None:
    assert [one.text for one in pieces("can't cannot don't won’t isn't")] == ["can", "not", "can", "not", "do", "not", "will", "not", "is", "not"]


@settings(max_examples=150)
@given(st.text(max_size=60), st.sampled_from(["", *ONE.told_by]))
def test_what_passes_is_made_of_what_may_be_said(text: str, id: str) -> None:
    """Any text at all may be put behind a fact; what then passes has no digit, code or name of its own."""
    facts = (id,) if id else ()
    base = ONE.told_by.get(id, ONE.phrases.vague)
    if problem(f"{base}\n{text}", *facts) is None:
        known = {one.meaning for source in (base, *ONE.phrases, ONE.persona.name, REQUEST) for one in pieces(source)}
        assert all(one.plain or one.meaning in known or one.kind == "quoted" for one in pieces(text))
        assert not any(letter.isdigit() for letter in text) or any(letter.isdigit() for letter in base)


def test_checking_takes_no_time() -> None:
    begun = time.monotonic()
    for text in ("1," * 3000, "'" * 6000, "a-" * 3000, "“" * 6000, "e\u0301" * 3000, "一" * 6000, "x" * 500_000):
        assert problem(text, "date") is not None
    assert time.monotonic() - begun < 2


def test_an_unknown_fact_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        leaves_facts(dialogue(ENGLISH), "Hello.", ("nobody",), ())

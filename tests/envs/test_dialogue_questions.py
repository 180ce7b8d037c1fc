"""What counts as a question: asked in many ways, in two languages, and what only looks like one."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.envs.dialogue.questions import READ, is_vague, question_in
from cowork_gym.envs.dialogue.spelling import mentions, simplify

QUESTIONS = [
    "When is it due?", "WHEN IS IT DUE ?", "When is it due？", "Please tell me the due date.", "Could you kindly confirm the address",
    "Let me know which one.",
    "I need the delivery date before I can go on.", "I'd like to know who signs.", "What is the budget", "How much is it.",
    "Which account should I use",
    "I am waiting for your confirmation.", "Shall I go ahead and refund it?", "Should I proceed?", "Let me know if you'd like me to proceed.",
    "Before I order: what colour?", "“When?”", "**Question:** which one?", "I have one more question: which account?", "May I ask for the code",
    "请问什么时候送到", "请告诉我收货地址。", "麻烦您先确认一下金额", "能否提供联系人", "预算是多少", "是周四吗", "交货日期是哪天？", "用哪个账户?",
    "我想确认一下日期。",
    "需要您提供收货人。", "等您的回复。",
]
STATEMENTS = [
    "", " \n ", "Done.", "The order PO-7 is placed for Thursday.", "I moved T-1 to people-team. Nothing else changed.",
    "See https://desk.example/find?q=when for it.",
    "Is there anything else I can help you with?", "Anything else?", "Done! Let me know if you need anything else.", "How else can I help?",
    "Please let me know if you have any further questions or requests.", "Do you have any other questions?",
    "If you have any questions, please tell me.",
    "What was done: the order was placed.", "What is done:", "Which is why I refused it.", "I know when to stop.", "已完成，订单号 PO-7。",
    "没有发现其他异常。",
    "还有什么需要我帮忙的吗？", "如有其他问题，请随时告诉我。", "如果有任何疑问请告知。", "还有别的吗？",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_one_however_it_is_put(text: str) -> None:
    assert question_in(text)
    assert question_in(f"I have read the ticket.\n\n{text}")
    assert question_in(f"- {text}\nIs there anything else I can help with?")


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_report_and_an_offer_of_help_ask_nothing(text: str) -> None:
    assert question_in(text) == ""
    assert question_in(f"The order is placed.\n{text}\n") == ""


def test_only_what_asks_is_the_question() -> None:
    assert question_in("I found the address. What is the price? I have set the date.") == "what is the price?"
    assert question_in("预算已核对。联系人是谁？") == "联系人是谁?"


def test_what_is_listed_below_belongs_to_the_question() -> None:
    assert question_in("Could you tell me:\n\n- the date\n2. the price\nI have read T-1.\n- a note") == "could you tell me:\nthe date\nthe price"
    assert question_in("- the date\n- the price") == ""


def test_a_wall_of_text_is_read_from_its_end() -> None:
    assert question_in("when? " + "x" * READ) == ""
    assert question_in("x " * READ + "\nwhen?") == "when?"


@pytest.mark.parametrize("text", ["? " * 10_000, "please " * 4_000, "何" * 30_000, "if you have any" * 3_000, "e\u0301\u0302" * 9_000,
    "let me know if " * 2_000])
def test_a_huge_message_takes_no_time(text: str) -> None:
    begun = time.monotonic()
    question_in(text * 5)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(("text", "vague"), [
    ("Any more details?", True), ("Is there anything else I should know?", True), ("Please share some additional background information.", True),
    ("Tell me everything.", True), ("还有其他要求吗？", True), ("能否补充说明？", True), ("When is it due?", False), ("Which colour?", False),
    ("颜色是什么？", False),
])
def test_vague_questions_are_told_from_others(text: str, vague: bool) -> None:
    assert is_vague(question_in(text)) is vague
    assert question_in(text)


@pytest.mark.parametrize(("text", "phrase", "found"), [
    ("What is the delivery date?", "delivery date", True), ("the delivery-date", "delivery date", True), ("the delivery_date", "Delivery Date", True),
    ("predelivery date", "delivery date", False), ("delivery dates", "delivery date", False), ("deliveries", "deliver*", True),
    ("undelivered", "deliver*", False),
    ("Über die Straße", "uber die strasse", True), ("CAFÉ", "cafe", True), ("cafe\u0301", "café", True), ("ＤＡＴＥ？", "date", True),
    ("da\u200bte", "date", True),
    ("送货日期是", "日期", True), ("日程", "日期", False), ("订单PO号", "po", True), ("PO-7", "po-7", True), ("PO-71", "po-7", False),
    ("ПРИВЕТ", "привет", True),
    ("приветик", "привет", False), ("date", "dаte", False), ("a.b", "a.b", True), ("axb", "a.b", False),
])
def test_phrases_are_found_as_words(text: str, phrase: str, found: bool) -> None:
    assert mentions(simplify(text), phrase) is found


@settings(max_examples=80)
@given(st.text(max_size=80))
def test_no_text_breaks_the_reading(text: str) -> None:
    question = question_in(text)
    assert simplify(question) == question.replace("\n", " ").strip()
    assert question_in(text) == question

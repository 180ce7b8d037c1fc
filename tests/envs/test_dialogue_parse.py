"""Dialogues that cannot be played are refused in one line, with the place and the nearest choice."""

from collections.abc import Mapping
from typing import Any

import pytest
from dialogue_samples import CHINESE, ENGLISH, dialogue

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.dialogue import Language, Manner, parse_dialogue

DATE, PLACE, CAP, SIGNS = ENGLISH["facts"]
LATER = {"id": "fixed", "of": "date", "says": "Sorry: Friday.", "when": {"replies": 2}}


def fact(id: str = "x", **fields: Any) -> dict[str, Any]:
    return {"id": id, "asks": ["colour"], "says": "Red.", **fields}


def refused(form: Any) -> str:
    with pytest.raises(PackageError) as caught:
        parse_dialogue(form, "private/dialogue.yaml")
    text = str(caught.value)
    assert text.startswith("private/dialogue.yaml") and "\n" not in text
    return text.removeprefix("private/dialogue.yaml: ")


def test_what_is_read() -> None:
    one = dialogue()
    assert (one.persona.name, one.persona.manner, one.language, one.patience, one.per_reply) == ("Ines Okafor", Manner.BRIEF, Language.ENGLISH, 5, 2)
    assert [(fact.id, fact.asks, fact.after, fact.volunteered) for fact in one.facts][1::2] == [
        ("place", (("where",), ("address",), ("ship", "to")), (), False), ("signs", (("who",),), ("place",), True),
    ]
    assert [*one.told_by] == ["date", "place", "cap", "signs", "new_date"]
    assert one.phrases.again == "As I said:"
    assert dialogue(CHINESE).language is Language.CHINESE


@pytest.mark.parametrize(("says", "language"), [
    ("请联系 Brightwater Logistics 的 Ada Moreau。", "zh"), ("请发到仓库。", "zh"), ("Please ask 王建国.", "en"), ("12", "en"), ("仓库三号", "zh"),
    ("Ada Moreau", "en"),
    ("It is for 王建国 and 李晓梅 of the desk.", "en"),
])
def test_the_language_is_that_of_most_words(says: str, language: str) -> None:
    assert dialogue(facts=[fact(says=says)], corrections=None).language == language


def test_a_dialogue_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        dialogue().patience = 9  # type: ignore[misc]


@pytest.mark.parametrize(("fields", "problem"), [
    ({"patiense": 3}, "patiense: unknown key: did you mean 'patience'?"),
    ({"persona": {"name": "A", "maner": "brief"}}, "persona.maner: unknown key: did you mean 'manner'?"),
    ({"persona": {"name": "A", "manner": "rude"}}, "persona.manner: input should be 'brief', 'formal', 'friendly' or 'impatient', not \"rude\""),
    ({"persona": None}, "persona: is missing"), ({"facts": []}, "facts: needs 1 or more"),
    ({"schema_version": 2}, "schema_version: input should be 1, not 2"),
    ({"facts": [fact(id="a b")]}, "facts[0].id: string should match pattern '^[A-Za-z0-9_.-]+$', not \"a b\""),
    ({"facts": [fact(says=" \u200b ")]}, 'facts[0].says: expected a text all of which can be seen, not " \\u200b "'),
    ({"facts": [fact(says="a\tb")]}, 'facts[0].says: expected a text all of which can be seen, not "a\\tb"'),
    ({"facts": [fact(says="a" * 1001)]}, "facts[0].says: string should have at most 1000 characters"),
    ({"facts": [fact(says=7)]}, "facts[0].says: input should be a valid string, not 7"),
    ({"facts": [fact(asks=[["a", 7]])]}, 'facts[0].asks[0]: expected a phrase, or a list of phrases all of which must be there, not ["a",7]'),
    ({"facts": [fact(asks=["*"])]}, 'facts[0].asks[0]: expected a phrase, or a list of phrases all of which must be there, not "*"'),
    ({"closing": {"regex": "."}}, 'closing: takes a question such as "when?" for the final answer'),
    ({"closing": {"not": {"contains": "Order:"}}}, 'closing: takes a question such as "when?" for the final answer'),
    ({"facts": [fact(volunteered="yes")]}, 'facts[0].volunteered: input should be a valid boolean, not "yes"'),
    ({"facts": [{"id": "x", "says": "Red."}]}, "facts[0] (x).asks: is missing: nobody can ask for the fact, and it is not volunteered"),
    ({"facts": [fact(asks=["any questions"])]},
     'facts[0] (x).asks[0]: "any questions" with a question mark is no question: an offer of help, or two sentences'),
    ({"facts": [fact(), fact()]}, "facts[1] (x).id: another fact or correction has this id"),
    ({"corrections": [{**LATER, "id": "date"}]}, "corrections[0] (date).id: another fact or correction has this id"),
    ({"facts": [fact(after=["y"])]}, "facts[0] (x).after[0]: there is no fact 'y', choose from x"),
    ({"facts": [fact(after=["x"])]}, "facts[0] (x).after: 'x' comes after itself"),
    ({"facts": [fact(after=["z"]), fact("y", after=["x"]), fact("z", after=["y"])]}, "facts[0] (x).after: 'x' comes after itself"),
    ({"corrections": [{**LATER, "of": "dat"}]}, "corrections[0] (fixed).of: there is no fact 'dat', did you mean 'date'?"),
    ({"corrections": [{**LATER, "when": {"after": "capp"}}]}, "corrections[0] (fixed).when.after: there is no fact 'capp', did you mean 'cap'?"),
    ({"corrections": [{**LATER, "when": {}}]}, "corrections[0] (fixed).when: needs either replies or after"),
    ({"corrections": [{**LATER, "when": {"replies": 2, "after": "cap"}}]}, "corrections[0] (fixed).when: needs either replies or after"),
    ({"corrections": [{**LATER, "when": {"replies": 1}}]}, "corrections[0].when.replies: input should be greater than or equal to 2, not 1"),
    ({"corrections": [{**LATER, "when": {"replies": True}}]}, "corrections[0].when.replies: input should be a valid integer, not true"),
    ({"corrections": [{**LATER, "when": {"after": "place"}}]},
     "corrections[0] (fixed).when.after: 'place' may be told before 'date', and then nothing is corrected: let it come after 'date'"),
    ({"private": [""]}, 'private[0]: expected a text or {regex: …}, not ""'),
    ({"private": ["---"]}, 'private[0]: expected a text or {regex: …}, not "---"'),
    ({"private": [{"regexp": "a"}]}, 'private[0]: expected a text or {regex: …}, not {"regexp":"a"}'),
    ({"private": [{"regex": "a("}]}, "private[0].regex: not a regular expression: missing ), unterminated subpattern at position 1"),
    ({"private": [{"regex": "x*"}]}, "private[0].regex: finds something in every text"),
    ({"private": [{"regex": "(a+)+b"}]}, "private[0].regex: repeats a group with a repetition or a choice in it, which may take for ever: write"),
    ({"closing": {"labeled": {}}}, "closing: unknown matcher 'labeled': did you mean 'labelled'?"),
    ({"patience": 0}, "patience: input should be greater than or equal to 1, not 0"), ({"per_reply": 0}, "per_reply: input should be greater than"),
    ({"patience": True}, "patience: input should be a valid integer, not true"),
])
def test_what_cannot_be_used_is_refused(fields: Mapping[str, Any], problem: str) -> None:
    form = {name: value for name, value in {**ENGLISH, "corrections": [], **fields}.items() if value is not None}
    assert refused(form).startswith(problem)


@pytest.mark.parametrize("form", [None, [], "facts"])
def test_what_is_no_mapping_is_refused(form: Any) -> None:
    assert refused(form).startswith("expected a mapping, not")


@pytest.mark.parametrize(("secret", "text"), [
    ("555-0192", "Call 555 0192."), ("my PIN is 4471", "My pin is: 4471"), ("Project Nightjar", "PROJECT\u00a0NIGHTJAR!"),
    ("Nightjar", "N i g h t j a r"),
    ("naïve plan", "a naive plan"), ("夜鹰项目", "夜 鹰 项 目"), ("工资", "我的工资是"), ({"regex": r"\bpin\b.{0,9}\d{4}"}, "PIN is 4471"),
    ({"regex": r"PIN \d{4}"}, "my pin 4471"), ("Ｚoe", "zoe"), ("Night-jar", "nightjar"),
])
def test_no_text_says_what_is_private(secret: Any, text: str) -> None:
    for fields, where in [
        ({"facts": [fact(says=text)]}, "facts[0] (x).says"), ({"unknown": text}, "unknown"), ({"vague": text}, "vague"),
        ({"impatient": text}, "impatient"),
        ({"persona": {"name": text}}, "persona.name"), ({"corrections": [{**LATER, "says": text}]}, "corrections[0] (fixed).says"),
    ]:
        written = refused({**ENGLISH, "corrections": [], "private": ["other", secret], **fields})
        assert written.startswith(f"{where}: says what private[1] forbids")


def test_usual_texts_are_looked_at_too() -> None:
    assert refused({**ENGLISH, "private": ["what I have told you"]}).startswith("persona.manner: says what private[0] forbids")
    assert dialogue(private=["what I have told you"], unknown="I cannot say.").phrases.unknown == "I cannot say."


@pytest.mark.parametrize("text", ["spinning", "The pi number", "Call 555-01920", "Ada signs.", "工作"])
def test_other_words_are_not_private(text: str) -> None:
    assert dialogue(facts=[fact(says=text)], corrections=None, private=["pin", "0192", "工资"])


@pytest.mark.parametrize(("fields", "needed"), [
    ({"facts": [DATE, PLACE, CAP], "corrections": None}, 2), ({"facts": [DATE, PLACE, CAP], "corrections": None, "per_reply": 1}, 3),
    ({"facts": [DATE, PLACE, CAP, SIGNS], "corrections": None, "per_reply": 1}, 3),
    ({"facts": [fact("a"), fact("b", after=["a"]), fact("c", after=["b"]), fact("d", after=["c"])], "corrections": None}, 4),
    ({"facts": [fact("o"), fact("p"), fact("a"), fact("b", after=["a"]), fact("c", after=["b"])], "corrections": None}, 3),
    ({"facts": [DATE], "corrections": [LATER]}, 2), ({"facts": [DATE], "corrections": [{**LATER, "when": {"replies": 4}}]}, 4),
    ({"facts": [DATE, CAP], "corrections": [{**LATER, "when": {"after": "cap"}}]}, 2),
])
def test_all_can_be_heard_in_time(fields: Mapping[str, Any], needed: int) -> None:
    assert dialogue(**{**fields, "patience": needed}).patience == needed
    if needed > 1:
        form = {name: value for name, value in {**ENGLISH, **fields, "patience": needed - 1}.items() if value is not None}
        assert refused(form).endswith(f"can only be heard with reply {needed}, and patience is {needed - 1}")

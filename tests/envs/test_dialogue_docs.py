"""The dialogue in docs/dialogue.md can be read, and goes as it is told."""

import re
from pathlib import Path

from dialogue_samples import talk

from cowork_gym.envs.dialogue import Dialogue, Manner, RuleUser, leaves_facts, parse_dialogue
from cowork_gym.envs.dialogue.form import Correction, Fact
from cowork_gym.envs.dialogue.questions import READ
from cowork_gym.envs.package_files import read_mapping

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "dialogue.md").read_text(encoding="utf-8")
((FILE, TEXT),) = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
(SPOKEN,) = re.findall(r"^```text\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)


def _example(folder: Path) -> Dialogue:
    path = folder / "dialogue.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return parse_dialogue(read_mapping(path), FILE)


def test_the_conversation_goes_as_it_is_told(tmp_path: Path) -> None:
    dialogue = _example(tmp_path)
    parts = [re.findall(r"^(agent|user): +(.*)$", part, re.MULTILINE) for part in re.split(r"^(?=agent)", SPOKEN, flags=re.MULTILINE) if part]
    replies = talk(RuleUser(dialogue), *[part[0][1] for part in parts])
    assert [reply and reply.text for reply in replies] == ["\n".join(text for _, text in part[1:]) or None for part in parts]
    assert {fact for reply in replies if reply for fact in reply.facts} == {*dialogue.told_by}


def test_every_reply_stands(tmp_path: Path) -> None:
    dialogue, said = _example(tmp_path), list[str]()
    for reply in talk(RuleUser(dialogue), "When and where?", "What is the budget?", "When?"):
        assert reply is not None
        assert leaves_facts(dialogue, reply.text, reply.facts, said) is None
        said.append(reply.text)


def test_the_example_is_short() -> None:
    assert len(TEXT.splitlines()) <= 15


def test_the_page_names_every_key_and_limit() -> None:
    keys = {*Dialogue.model_fields, *Fact.model_fields, *Correction.model_fields, *Manner}
    assert [key for key in sorted(keys - {"schema_version"}) if f"`{key}`" not in DOCS and f"facts[].{key}`" not in DOCS] == []
    defaults = {name: Dialogue.model_fields[name].default for name in ("patience", "per_reply")}
    assert f"the most replies ({defaults['patience']})" in DOCS
    assert f"one question gets ({defaults['per_reply']})" in DOCS
    assert f"{READ:,} characters" in DOCS

"""The documents point at what is there."""

import re
from pathlib import Path

import pytest

import cowork_gym
from cowork_gym.harness import AGENTS

ROOT = Path(cowork_gym.__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_local_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md"])
def test_the_agents_named_are_the_agents_there_are(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    (sentence,) = re.findall(r"Agents: (`reference`.*?)\.\s", text, re.DOTALL)
    named = {name.partition(":")[0] for name in re.findall(r"`([^`\s]+)`", sentence) if not name.startswith("make")}
    assert named - {"OPENAI_API_KEY"} == {agent.partition(":")[0] for agent in AGENTS}

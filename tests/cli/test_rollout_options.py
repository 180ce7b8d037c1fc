"""The verb `rollout`: which options a directory is bound to, and what a mistake in them leaves behind."""

import json

import pytest

from cowork_gym.cli.main import main

_SCRIPT = '{"turns": [], "final": "done"}'
_SKILL = "---\nname: closing\ndescription: How to close a ticket.\n---\nClose it.\n"


def _call(out, *more):
    return main(["rollout", "M1003", "--out", str(out), *("--agent", "noop") * ("--agent" not in more), *map(str, more)])


@pytest.mark.parametrize(("more", "field"), [
    (("--temperature", "0.5"), "temperature: 1, not 0.5"), (("--max-tokens", "9"), "max_tokens: 512, not 9"),
    (("--user", "openai:m@http://127.0.0.1:9/v1"), 'user: "rules", not "openai:m@'), (("--format", "prompted"), 'format: "native", not "prompted"'),
    (("--judge", "openai:m@http://127.0.0.1:9/v1"), 'judge: null, not "openai:m@'), (("--official",), "official: false, not true"),
])
def test_a_directory_is_bound_to_the_options_that_an_episode_depends_on(tmp_path, capsys, more, field):
    if "--judge" in more:
        pytest.importorskip("openai")
    assert _call(tmp_path) == 0
    assert _call(tmp_path, "--resume", *more) == 2
    assert f"{tmp_path}: the rollout there has other {field}" in capsys.readouterr().err
    assert _call(tmp_path, "--resume", "--concurrency", "2") == 0


@pytest.mark.parametrize(("kind", "field"), [
    ("script", "agent_sha256"), ("prompt", "harness_sha256"), ("skills", "harness_sha256"), ("@", "harness_sha256"),
])
def test_a_directory_is_bound_to_what_is_in_the_files(tmp_path, capsys, kind, field):
    out, file = tmp_path / "run", tmp_path / "file.yaml"
    before, after = {
        "script": (_SCRIPT, _SCRIPT.replace("done", "gone")), "prompt": ("Be quick.", "Be slow."), "skills": (_SKILL, _SKILL + "Now.\n"),
        "@": ("schema_version: 1\noptions:\n  prompt: [null]\n", "schema_version: 1\nbase: plan-act\noptions:\n  prompt: [null]\n"),
    }[kind]
    if kind == "skills":
        file = tmp_path / "folder" / "SKILL.md"
        file.parent.mkdir()
    named = {
        "script": ("--agent", f"script:{file}"), "prompt": ("--harness", f"prompt:{file}"), "skills": ("--harness", f"skills:{file.parent}"),
        "@": ("--harness", f"@{file}"),
    }[kind]
    file.write_text(before)
    assert _call(out, *named) == 0
    file.write_text(after)
    assert _call(out, "--resume", *named) == 2
    assert f"{out}: the rollout there has other {field}: " in capsys.readouterr().err
    file.write_text(before)
    assert _call(out, "--resume", *named) == 0


@pytest.mark.parametrize("more", [
    ("--harness", "react+nope"), ("--harness", "only:nope"), ("--agent", "nope"), ("--agent", "openai:m@https://example.invalid/v1"),
    ("--user", "nope"), ("--judge", "nope"), ("--reward", "nope"), ("--harness", "budget:cost=1"),
])
def test_a_mistake_leaves_nothing_behind(tmp_path, capsys, monkeypatch, more):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert _call(tmp_path / "run", *more) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_an_episode_of_another_agent_in_a_slots_place_is_played_again(tmp_path, capsys):
    for name, agent in (("ours", "reference"), ("theirs", "text-only")):
        assert _call(tmp_path / name, "--agent", agent, "--json") == 0
    (ours,), (theirs,) = [[*(tmp_path / name / "episodes").iterdir()] for name in ("ours", "theirs")]
    ours.write_bytes(theirs.read_bytes())
    capsys.readouterr()
    assert _call(tmp_path / "ours", "--agent", "reference", "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["reward"] == 1.0

"""Plug-ins: what an installed package adds by its entry points, and what a broken one does not break."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cowork_gym

ROOT = Path(cowork_gym.__file__).parents[1]
SERVICE = '''
from pathlib import Path
from typing import Any, ClassVar

from cowork_gym.mock_services.kit import Effect, Field, Record, Service, tool

PACKAGES = Path(__file__).parent / "packages"

class Lamp(Record, table=True):
    lamp_id: str = Field(primary_key=True)
    lit: bool = False

class Lamps(Service):
    name = "lamps"
    tables: ClassVar = [Lamp]

    @tool(Effect.WRITE)
    def light(self, lamp_id: str) -> dict[str, Any]:
        """Light a lamp."""
        return Lamp.shown(self.store.update(Lamp, lamp_id, lit=True))
'''
PACKAGE = {
    "task.yaml": """
schema_version: 1
id: Lit_the_lamp
version: 2
title: Light the lamp
request: Light the lamp L-1.
mock_today: 2026-03-10
services: [lamps]
tools: [lamps_light]
""",
    "world/lamps.yaml": "lamps: [{lamp_id: L-1}]",
    "private/grading.yaml": """
schema_version: 1
checks: [{id: called, kind: tool_called, weight: 1, tool: lamps_light}]
outcomes: [{id: lit, kind: row_state, table: lamps.lamps, key: L-1, fields: {lit: true}}]
""",
    "private/reference.yaml": "executions: [{name: light, turns: [lamps_light: {lamp_id: L-1}], final: done}]",
    "private/negatives.yaml": "executions: [{name: dark, max_reward: 0, why: nothing is done, turns: [], final: done}]",
}
PRELUDE = """
import json, sys, warnings
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    import cowork_gym, gymnasium
    from cowork_gym.core.errors import UserError
    from cowork_gym.envs.registration import REGISTRY

    def play(id):
        env = gymnasium.make(id)
        env.reset(seed=0)
        for action in cowork_gym.reference(id):
            *_, info = env.step(action)
        env.close()
        return info["grade"].reward

    def refusal(name):
        try:
            cowork_gym.load_task(name)
        except UserError as error:
            return str(error)

    services = sorted(REGISTRY.services())
    tasks = sorted(REGISTRY.tasks())
"""
BUILT_IN = ["calendar", "contacts", "crm", "files", "finance", "gmail", "helpdesk", "inventory", "kb", "todo"]


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _install(site: Path, name: str, code: str, services: str = "", tasks: str = "") -> None:
    """What an installer leaves of a distribution: one module, its metadata and its entry points (`name = attribute`, one a line)."""
    points = [
        f"[cowork_gym.{group}]\n" + "\n".join(f"{line.partition(' = ')[0]} = {name}:{line.partition(' = ')[2]}" for line in lines.splitlines())
        for group, lines in (("services", services), ("tasks", tasks)) if lines
    ]
    _write(site, {
        f"{name}.py": code, f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/entry_points.txt": "\n\n".join(points) + "\n",
    })


def _run(site: Path, result: str) -> tuple[Any, list[str]]:
    """What `result` is in an interpreter that has the distributions of `site`, and what it was warned of."""
    code = f"{PRELUDE}    result = {result}\nprint(json.dumps([result, [str(one.message) for one in caught]]))\n"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=site, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    result, warned = json.loads(done.stdout)
    return result, warned


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with one good plug-in."""
    _install(tmp_path, "lampshop", SERVICE, services="lamps = Lamps", tasks="acme = PACKAGES")
    _write(tmp_path / "packages" / "Lit_the_lamp", PACKAGE)
    return tmp_path


def test_a_service_and_a_folder_of_tasks_plug_in(site: Path) -> None:
    (found, known, rewards), warned = _run(site, '[services, tasks, [play("acme/Lit-v2"), play("cowork/M1100-v0")]]')
    assert found == sorted([*BUILT_IN, "lamps"])
    assert [id for id in known if not id.startswith("cowork/")] == ["acme/Lit-v2"]
    assert rewards == [1.0, 1.0]
    assert not warned


@pytest.mark.parametrize(("code", "what"), [
    ("raise RuntimeError('no licence')", "no licence"), ("import a_module_that_nobody_has", "a_module_that_nobody_has"), ("", "Service"),
    ("import sys\nsys.exit('bye')", "bye"),
])
def test_a_plug_in_that_cannot_be_imported_is_told_and_left_out(site: Path, code: str, what: str) -> None:
    _install(site, "broken", code, services="shards = Service", tasks="pieces = FOLDER")
    _write(site / "Sharp", {**PACKAGE, "task.yaml": PACKAGE["task.yaml"].replace("lamps", "shards").replace("id: Lit_the_lamp", "id: Sharp")})
    refused, played = '[refusal("pieces/Any-v0"), refusal("Sharp")]', '[play("acme/Lit-v2"), play("cowork/M1100-v0")]'
    (found, known, (no_task, no_service), rewards), warned = _run(site, f"[services, tasks, {refused}, {played}]")
    assert found == sorted([*BUILT_IN, "lamps"])
    assert not [id for id in known if not id.startswith(("acme/", "cowork/"))]
    assert "pieces/Any-v0" in no_task
    assert "shards" in no_service
    assert rewards == [1.0, 1.0]
    assert all(sum(repr(name) in text for text in warned) == 1 for name in ("shards", "pieces")), warned
    assert any(what in text for text in warned)


@pytest.mark.parametrize(("code", "point"), [
    ("from pathlib import Path\nFOLDER = Path(__file__).parent / 'nowhere'", "pieces"), ("FOLDER = 5", "pieces"),
    ("from lampshop import PACKAGES as FOLDER", "acme"),
])
def test_a_folder_of_tasks_that_cannot_be_used_is_told_and_left_out(site: Path, code: str, point: str) -> None:
    if point == "acme":
        code = "from pathlib import Path\nFOLDER = Path(__file__).parent / 'more'"
        _write(site / "more" / "Lit_again", PACKAGE)
    _install(site, "broken", code, tasks=f"{point} = FOLDER")
    (known, reward), warned = _run(site, '[tasks, play("acme/Lit-v2")]')
    assert [id for id in known if not id.startswith("cowork/")] == ["acme/Lit-v2"]
    assert reward == 1.0
    assert [repr(point) in text for text in warned] == [True], warned


@pytest.mark.parametrize("code", [
    "Service = 5", "from cowork_gym.mock_services.kit import Service as Kit\n\nclass Service(Kit):\n    name = 'crm'\n    tables = []\n",
])
def test_a_service_that_is_none_or_has_a_taken_name_is_told_and_left_out(site: Path, code: str) -> None:
    _install(site, "broken", code, services="shards = Service")
    (found, module, reward), warned = _run(site, '[services, REGISTRY.services()["crm"].__module__, play("cowork/M1100-v0")]')
    assert found == sorted([*BUILT_IN, "lamps"])
    assert module.startswith("cowork_gym.")
    assert reward == 1.0
    assert ["'shards'" in text for text in warned] == [True], warned

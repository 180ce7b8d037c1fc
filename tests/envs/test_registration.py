"""The registry: what a name means, and who may have it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest

import cowork_gym
from cowork_gym.core.errors import UserError
from cowork_gym.envs.registration import CATALOG, Registry, load_task
from cowork_gym.mock_services.crm import CRM
from cowork_gym.mock_services.kit import Effect, Field, Record, Service, tool

M1100 = CATALOG / "M1100_at_risk_key_rotation"
ID = "acme/M1100-v0"


class Lamp(Record, table=True):
    """A lamp."""

    lamp_id: str = Field(primary_key=True)


class Pretender(Service):
    """A service under a name that is taken."""

    name = "crm"
    tables: ClassVar = [Lamp]

    @tool(Effect.READ)
    def look(self) -> dict[str, Any]:
        """Look around."""
        return {}


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry of its own; what it tells Gymnasium is taken back."""
    before = dict(gymnasium.registry)
    yield Registry()
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(M1100, tmp_path / "one" / M1100.name)


def _play(id: str) -> float:
    env = gymnasium.make(id)
    env.reset(seed=0)
    for action in cowork_gym.reference(env.unwrapped.task):
        *_, info = env.step(action)
    env.close()
    return float(info["grade"].reward)


def test_a_relative_path_means_the_same_after_a_change_of_folder(
    registry: Registry, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(package.parent)
    registry.register(ID, M1100.name)
    monkeypatch.chdir(tmp_path)
    assert registry.find(ID).resolve() == package.resolve()
    assert registry.load("M1100")[0].id == M1100.name
    assert _play(ID) == 1.0


def test_an_id_belongs_to_one_folder(registry: Registry, package: Path, tmp_path: Path) -> None:
    other = shutil.copytree(package, tmp_path / "two" / package.name)
    registry.register(ID, package)
    with pytest.raises(UserError, match="acme/M1100-v0") as caught:
        registry.register(ID, other)
    assert str(package) in str(caught.value)
    assert registry.find(ID) == package
    assert Path(gymnasium.registry[ID].kwargs["task"]) == package


def test_a_folder_may_be_registered_again_however_it_is_written(
    registry: Registry, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = tmp_path / "link"
    link.symlink_to(package)
    monkeypatch.chdir(package.parent)
    for path in (package, package.name, package / ".." / package.name, link):
        registry.register(ID, path)
    assert list(registry.tasks()) == [ID]
    registry.register_folder(package.parent, "acme")
    registry.register_folder(package.parent, "acme")
    assert list(registry.tasks()) == [ID]


@pytest.mark.parametrize("folder", ["M1100_at_risk_key_rotation", "M7_copied", "copy"])
def test_a_package_in_a_folder_goes_by_its_own_id_and_version(registry: Registry, tmp_path: Path, folder: str) -> None:
    package = shutil.copytree(M1100, tmp_path / folder)
    text = (package / "task.yaml").read_text(encoding="utf-8")
    (package / "task.yaml").write_text(text.replace("version: 0", "version: 3"), encoding="utf-8")
    registry.register_folder(tmp_path, "acme")
    assert list(registry.tasks()) == ["acme/M1100-v3"]
    assert registry.load("acme/M1100-v3")[0].version == 3


def test_one_package_may_have_two_ids(registry: Registry, package: Path) -> None:
    registry.register(ID, package)
    registry.register("zeta/M1100-v0", package)
    assert list(registry.tasks()) == [ID, "zeta/M1100-v0"]


@pytest.mark.parametrize("id", ["M1100", "acme/M1100", "acme/M 1100-v0", "acme/M1100-vx", "a/b/M1100-v0", ""])
def test_an_id_has_a_form(registry: Registry, package: Path, id: str) -> None:
    with pytest.raises(UserError, match="not an environment id"):
        registry.register(id, package)
    assert not registry.tasks()


def test_a_built_in_service_is_not_replaced(registry: Registry, package: Path) -> None:
    with pytest.raises(UserError, match="'crm'"):
        registry.register(ID, package, services=[Pretender])
    assert registry.services()["crm"] is CRM
    assert not registry.tasks()
    registry.register(ID, package, services=[CRM])
    assert registry.services()["crm"] is CRM


def test_an_edited_package_is_read_again(package: Path) -> None:
    first = load_task(package)
    assert load_task(package) is first
    text = (package / "task.yaml").read_text(encoding="utf-8")
    (package / "task.yaml").write_text(text.replace("turns: 30", "turns: 31"), encoding="utf-8")
    assert (first.budgets.turns, load_task(package).budgets.turns) == (30, 31)


def test_a_package_with_one_file_more_is_read_again(package: Path) -> None:
    assert "gmail" not in load_task(package).world
    (package / "world" / "gmail.yaml").write_text("messages: []\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"gmail"):
        load_task(package)


def test_the_same_package_elsewhere_is_the_same_task(package: Path) -> None:
    assert load_task(package).release_id == load_task("cowork/M1100-v0").release_id

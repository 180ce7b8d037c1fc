"""The house rules that no linter checks: sizes, public names, words, links and what the metadata promises."""

import ast
import configparser
import doctest
import importlib
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cowork_gym"
FILE_LINES, FUNCTION_LINES = 400, 40
OPTIONAL = {"fastapi", "httpx", "openai", "safetensors", "starlette", "tokenizers", "torch", "transformers", "xllamacpp"}
"""What only an extra brings."""
LINKS = ("benchmarks", "envs", "graders", "mock_services", "trainers")
VAGUE_FILE = re.compile(r"(utils?|helpers?|misc|common)\.py")
VAGUE_CLASS = re.compile(r"Base[A-Z].*|.*(Manager|Helper|Utils?)")
FORBIDDEN = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|(?<![\w.}])/(?:work|root|home)/|\bpypi\.(?:org|python)|pythonhosted|registry\.npmjs")


def _python(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


SOURCES = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in _python(PACKAGE)}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def _all_of(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            return list(ast.literal_eval(node.value))
    return None


def _case_order(name: str) -> tuple[int, str]:
    """Constants, then types, then the rest: the order that ruff keeps."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def _modules() -> Iterator[ModuleType]:
    """Every module that imports with what is installed here."""
    for path in SOURCES:
        if path.name == "__main__.py":
            continue
        try:
            yield importlib.import_module(_dotted(path))
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in OPTIONAL:
                raise


def _requirements() -> dict[str, list[Requirement]]:
    """What `setup.cfg` asks for, by extra; the core's stands under the empty name."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    texts = {"": config["options"]["install_requires"], **config["options.extras_require"]}
    return {extra: [Requirement(line) for line in text.splitlines() if line] for extra, text in texts.items()}


def _holds(offenders: list[str]) -> None:
    assert not offenders, "\n" + "\n".join(offenders)


def test_no_file_is_too_long():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _python(PACKAGE, ROOT / "tests", ROOT / "examples")}
    _holds([f"{_name(path)} has {lines} lines" for path, lines in lengths.items() if lines > FILE_LINES])


def test_no_function_is_too_long():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [(path, node) for path, tree in SOURCES.items() for node in ast.walk(tree) if isinstance(node, kinds)]
    lengths = [(f"{_name(path)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1) for path, node in functions]
    _holds([f"{place} has {lines} lines" for place, lines in lengths if lines > FUNCTION_LINES])


def test_every_module_says_what_it_is():
    _holds([_name(path) for path, tree in SOURCES.items() if not ast.get_docstring(tree)])


def test_public_things_say_what_they_are():
    bare = []
    for path, tree in SOURCES.items():
        for node in _public(tree.body):
            inner = _public(node.body) if isinstance(node, ast.ClassDef) else ()
            bare += [f"{_name(path)}:{one.lineno} {one.name}" for one in (node, *inner) if not ast.get_docstring(one)]
    _holds(bare)


def test_public_names_are_listed_and_sorted():
    wrong = []
    for path, tree in SOURCES.items():
        names, defined = _all_of(tree), [node.name for node in _public(tree.body)]
        if names is None:
            wrong += [f"{_name(path)} has no __all__"] if defined and path.name != "__main__.py" else []
        else:
            wrong += [f"{_name(path)}: {name} is public and not in __all__" for name in defined if name not in names]
            wrong += [f"{_name(path)}: __all__ is not sorted"] if names != sorted(set(names), key=_case_order) else []
    _holds(wrong)


def test_public_names_exist():
    _holds([f"{module.__name__} has no {name}" for module in _modules() for name in getattr(module, "__all__", ()) if not hasattr(module, name)])


def test_names_say_something():
    vague = [_name(path) for path in SOURCES if VAGUE_FILE.fullmatch(path.name)]
    for path, tree in SOURCES.items():
        vague += [f"{_name(path)} {node.name}" for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and VAGUE_CLASS.fullmatch(node.name)]
    _holds(vague)


def test_no_machine_and_no_unfinished_business_is_mentioned():
    suffixes = {".cfg", ".json", ".md", ".py", ".toml", ".txt", ".yaml"}
    texts = [path for folder in (PACKAGE, ROOT / "tests", ROOT / "examples", ROOT / "docs") for path in folder.rglob("*") if path.suffix in suffixes]
    texts += [path for path in ROOT.iterdir() if path.suffix in suffixes or path.name == "Makefile"]
    matches = [(path, FORBIDDEN.search(path.read_text(encoding="utf-8", errors="replace"))) for path in texts if path != Path(__file__).resolve()]
    _holds([f"{_name(path)}: {match.group()}" for path, match in matches if match])


def test_examples_in_docstrings_hold():
    _holds([module.__name__ for module in _modules() if doctest.testmod(module).failed])


@pytest.mark.parametrize("name", LINKS)
def test_the_links_at_the_top_lead_into_the_package(name):
    link = ROOT / name
    assert link.is_symlink()
    assert link.readlink() == Path("cowork_gym") / name
    assert link.is_dir()


def test_test_files_have_names_of_their_own():
    names = [path.name for path in _python(ROOT / "tests") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
    assert "__init__.py" not in names


def test_the_metadata_agrees_with_the_package():
    import cowork_gym

    assert metadata.version("cowork-gym") == cowork_gym.__version__
    assert (PACKAGE / "py.typed").exists()
    [command] = metadata.entry_points(group="console_scripts", name="cowork")
    assert command.value == "cowork_gym.cli.main:main"


def test_direct_dependencies_are_pinned_within_their_ranges():
    lines = (line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    pins = {name.lower(): version for name, _, version in (line.partition("==") for line in lines)}
    wanted = [one for ones in _requirements().values() for one in ones if one.name != "cowork-gym"]
    _holds([f"{one} is pinned to {pins.get(one.name.lower())}" for one in wanted if not one.specifier.contains(pins.get(one.name.lower(), "0"))])


def test_users_get_ranges():
    _holds([str(one) for ones in _requirements().values() for one in ones if any("==" in part.operator for part in one.specifier)])


def test_every_extra_is_explained():
    text = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    _holds([extra for extra in _requirements() if extra and f"| `{extra}` |" not in text])

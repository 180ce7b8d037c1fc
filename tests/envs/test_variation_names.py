"""Names in all their spellings: what is shared stays shared, and nothing of the old names is left."""

import pytest

from cowork_gym.envs.variation.finder import Finder
from cowork_gym.envs.variation.names import Kind, ascii_word
from cowork_gym.envs.variation.naming import Naming
from cowork_gym.envs.variation.rewriter import Rewriter

NAMES = {
    "Ines Okafor": Kind.PERSON, "Inés Ocaña": Kind.PERSON, "Jürgen Müller": Kind.PERSON, "Brightwater Logistics": Kind.COMPANY,
    "Meridian Cold Chain Ltd": Kind.COMPANY, "Quay Street": Kind.STREET, "王芳": Kind.PERSON, "王伟": Kind.PERSON, "明远物流有限公司": Kind.COMPANY,
    "欧阳娜": Kind.PERSON, "苏州": Kind.CITY, "Leeds": Kind.CITY, "Lumen Desk": Kind.PRODUCT, "Priya": Kind.FIRST_NAME,
}


def _rewriter(new: dict[str, str]) -> Rewriter:
    naming = Naming(NAMES)
    texts: dict[str, str] = {}
    for old, text in naming.pairs(new):
        texts.setdefault(old, text)
    return Rewriter(Finder(texts), texts)


NEW = {
    "ines": "Maya", "okafor": "Solis", "ocana": "Vidal", "jurgen": "Karl", "muller": "Braun", "brightwater": "Whitaker", "meridian": "Holt",
    "Quay Street": "Oak Lane", "王": "李", "芳": "娜", "伟": "强", "明远": "和泰", "欧阳": "周", "娜": "敏", "苏州": "武汉",
    "Leeds": "York", "lumen": "Faber", "priya": "Anna",
}


@pytest.mark.parametrize(("text", "expected"), [
    ("Ines Okafor, Ms Okafor, Ines's", "Maya Solis, Ms Solis, Maya's"),
    ("ines.okafor@brightwater.example, i.okafor@x, iokafor, INES", "maya.solis@whitaker.example, m.solis@x, msolis, MAYA"),
    ("Inés Ocaña <ines.ocana@x>", "Maya Vidal <maya.vidal@x>"), ("I. Okafor and inesokafor", "M. Solis and mayasolis"),
    ("Jürgen Müller, juergen.mueller@x, jmuller", "Karl Braun, karl.braun@x, kbraun"),
    ("Brightwater Logistics Iberia at www.brightwater-iberia.example", "Whitaker Logistics Iberia at www.whitaker-iberia.example"),
    ("Meridian Catering, accounts@meridiancoldchain-billing.example", "Holt Catering, accounts@holtcoldchain-billing.example"),
    ("14 Quay Street, Leeds; Priya has a Lumen Desk", "14 Oak Lane, York; Anna has a Faber Desk"),
    ("王芳和王伟，王经理，欧阳娜女士", "李娜和李强，李经理，周敏女士"), ("苏州明远物流有限公司，简称明远", "武汉和泰物流有限公司，简称和泰"),
])
def test_every_spelling_follows(text: str, expected: str) -> None:
    assert _rewriter(NEW).text(text) == expected


def test_drawn_names_are_new_plain_and_share_what_was_shared() -> None:
    naming = Naming(NAMES)
    for seed in range(12):
        new = naming.draw(seed, "task", lambda text: text.lower() in "smith, jones, 李娜")
        assert len({*new.values()}) == len(new)
        assert not {one.lower() for one in new.values()} & {"smith", "jones"}
        assert new == naming.draw(seed, "task", lambda text: text.lower() in "smith, jones, 李娜")
        written = _rewriter(new)
        assert written.text("Ines Okafor").split()[0] == written.text("Inés Ocaña").split()[0]
        assert written.text("王芳")[0] == written.text("王伟")[0]
        assert all(text.isascii() and "'" not in text for key, text in new.items() if ascii_word(key))


def test_names_differ_between_seeds_and_tasks() -> None:
    naming = Naming(NAMES)
    drawn = [naming.draw(seed, task, lambda _: False)["okafor"] for seed in range(5) for task in ("a", "b")]
    assert len({*drawn}) > 6

"""Changed files, and texts that only look as if they named them."""

import pytest
from test_rows_explained import of

from cowork_gym.core.snapshot import Change
from cowork_gym.graders.reconcile import contradiction


def explained(path: str, **call: object) -> bool:
    change = Change("workspace.files", path, None, {"path": path, "content": "x"})
    return contradiction(of({"tool": "files_write", "audit": "written_files", "record": {}, **call}, changes=(change,))) is None


@pytest.mark.parametrize(("path", "text"), [
    ("e", "e"), ("notes.md", "notes.md"), ("notes.md", "saved as notes.md."), ("a/b c.md", "in a/b c.md, done"), ("notes.md", "saved:\nnotes.md\n"),
    ('a"b.md', 'see a"b.md'), ("é.md", "«é.md»"), ("notes.md", 'as "notes.md"'),
])
def test_a_whole_value_or_a_whole_path_names_a_file(path, text):
    assert explained(path, arguments={"text": text})


@pytest.mark.parametrize(("path", "text"), [
    ("e", "the letter e"), ("e", "x"), ("notes.md", "old-notes.md"), ("notes.md", "notes.md.bak"), ("notes.md", "a/notes.md"), ("b.md", "ab.md"),
    ("a.md", "a.md/b"), ("md", "notes.md"),
])
def test_a_part_of_something_else_names_none(path, text):
    assert not explained(path, arguments={"text": text})

"""The documents that --json prints: letters as they are, as far as the output can show them, and nothing that moves a cursor."""

import json
import re
import sys
from typing import Any

__all__ = ["print_document"]

_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
"""Controls, marks of direction and halves of pairs: what a terminal would obey, or no encoding has."""


def print_document(value: Any) -> None:
    """Print a JSON value. Where the encoding of standard output lacks one of its letters, all are written as escapes."""
    text = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, indent=2, ensure_ascii=False))
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text)

"""What full-text search should find, in plain Python: tokens, stems, phrases, and BM25 with FTS5's constants."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.mock_services.kit.stem import stem

K1, B = 1.2, 0.75


def is_cjk(character: str) -> bool:
    return unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))


def tokens(text: str) -> list[str]:
    """Stems of words without case and accents; each Chinese, Japanese or Korean character is one."""
    found, word = [], ""
    for character in text:
        if character.isalnum() and not is_cjk(character):
            word += character
            continue
        found += [word, character] if character.isalnum() else [word]
        word = ""
    return [_plain(one) for one in (*found, word) if one]


def _plain(word: str) -> str:
    if is_cjk(word[0]):
        return word
    return stem("".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c)))


def phrases(query: str) -> list[tuple[str, ...]]:
    """A query's phrases: what stands between spaces and changes of script; of longer CJK runs each pair."""
    runs: list[str] = []
    last = " "
    for character in query:
        joined = not character.isspace() and not last.isspace() and is_cjk(character) == is_cjk(last)
        if joined:
            runs[-1] += character
        elif not character.isspace():
            runs.append(character)
        last = character
    pieces = []
    for run in runs:
        pairs = is_cjk(run[0]) and len(run) > 2
        pieces += [run[at : at + 2] for at in range(len(run) - 1)] if pairs else [run]
    return [phrase for piece in dict.fromkeys(pieces) if (phrase := tuple(tokens(piece)))]


def ranked(rows: Mapping[Any, Mapping[str, Any]], weights: Mapping[str, float], query: str, equal: Mapping[str, Any]) -> list[Any]:
    """Keys of the rows that have any phrase, best first, then by key.

    A phrase is worth its rarity, once for being there and once more in proportion to its BM25 in the row.
    """
    texts = {key: {column: tokens(row[column] or "") for column in weights} for key, row in rows.items()}
    lengths = {key: sum(map(len, columns.values())) for key, columns in texts.items()}
    average = sum(lengths.values()) / len(lengths) if lengths else 0
    scores: dict[Any, float] = {}
    for phrase in phrases(query):
        parts = {}
        for key, columns in texts.items():
            if frequency := sum(weights[column] * _count(words, phrase) for column, words in columns.items()):
                parts[key] = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * lengths[key] / average))
        for key, part in parts.items():
            scores[key] = scores.get(key, 0) + math.log1p(len(rows) / len(parts)) * (1 + part / max(parts.values()))
    wanted = [key for key in scores if all(rows[key][name] == value for name, value in equal.items())]
    return sorted(wanted, key=lambda key: (-round(scores[key], 9), key))


def _count(words: Sequence[str], phrase: tuple[str, ...]) -> int:
    return sum(tuple(words[at : at + len(phrase)]) == phrase for at in range(len(words) - len(phrase) + 1))

"""Stems are those of SQLite's index: two programs by the same rules agree on words made of every ending there is."""

import sqlite3
from contextlib import closing

import pytest

from cowork_gym.core.ids import generator
from cowork_gym.mock_services.kit.stem import stem

ENDINGS_SPACED = (
    "ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti icate ative "
    "alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize s ed ing eed y e ll sses ies at bl iz"
)
WORDS_SPACED = (
    "rotation rotations rotate rotated rotating certificate certificates certification renew renewal renewing policy policies happy happily hopping "
    "hoping agreed plastered bled sing falling hissing failed filing relational conditional rational valency digitizer conformably radically "
    "differently vilely analogously operator feudalism decisiveness hopefulness formality sensibility triplicate formalize electricity electrical "
    "goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologous "
    "communism activate angularity effective probate rate cease controlling roll syzygy yes by a ssl 443 2fa ß straße москва naive aéed"
)
ENDINGS, WORDS = ENDINGS_SPACED.split(), WORDS_SPACED.split()


def indexed(words):
    """What FTS5 keeps of each word that it takes for one."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61 remove_diacritics 0')")
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, 'instance')")
        connection.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(words))
        return {words[row]: term for row, term in connection.execute("SELECT doc, term FROM terms")}


def test_stems_are_those_of_the_index():
    chance = generator(0, "stems")
    parts = [*ENDINGS, *"abcdefghijklmnopqrstuvwxyz", "oo", "é", "ß", "я", "7"]
    made = ["".join(chance.choice(parts) for _ in range(chance.randint(1, 6))) for _ in range(20_000)]
    words = list(dict.fromkeys([*WORDS, *made, *(word + ending for word in WORDS for ending in ENDINGS), "w" * 64, "w" * 60 + "s", "w" * 64 + "s"]))
    found = indexed(words)
    assert len(found) == len(words)
    assert [(word, term) for word, term in found.items() if stem(word) != term] == []


def test_a_stem_is_the_beginning_of_its_word_but_for_its_last_letter():
    words = [word + ending for word in WORDS for ending in ENDINGS]
    assert [word for word in words if not word.startswith(stem(word)[:-1])] == []


@pytest.mark.parametrize("word", ["a\u1041ed", "e\u1041ing", "\u1041" * 4 + "s"])
def test_a_letter_of_several_bytes_may_be_cut_but_does_no_harm(word):
    assert isinstance(stem(word), str)

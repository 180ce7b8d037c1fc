"""Counting tokens does not look for where each message of the context stands: that is half of the work, and nobody sees it."""

import importlib

import pytest

pytest.importorskip("transformers")

from sft_records import plain

from cowork_gym.core.errors import MissingExtra
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dialogues import build_dialogues
from cowork_gym.trainers.data.sft.render import render
from cowork_gym.trainers.data.sft.token_count import token_counter
from cowork_gym.trainers.data.views.source import load_format


def test_no_message_is_looked_for_and_the_counts_are_those_of_the_sample(monkeypatch):
    dialogue = build_dialogues(plain(), Catalog()).dialogues[0]
    try:
        sample = render(dialogue, load_format("smollm2"))
    except MissingExtra as missing:
        pytest.skip(str(missing))
    looked = []
    monkeypatch.setattr(importlib.import_module("cowork_gym.trainers.data.sft.render"), "locate", lambda *given: looked.append(given) or ())
    assert token_counter("smollm2").count(dialogue) == (len(sample), sample.supervised)
    assert looked == []

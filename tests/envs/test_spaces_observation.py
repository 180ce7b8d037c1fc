"""The observation space: any text, exactly."""

import json
import pickle
from copy import deepcopy

import pytest
from desk_samples import SPOILABLE
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.messages import Message, final
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.spaces import ObservationSpace

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
MESSAGES = st.builds(Message, st.just("user"), TEXT) | st.builds(Message, st.just("tool"), TEXT, st.just(()), TEXT, TEXT)


@settings(max_examples=60)
@given(st.lists(MESSAGES, max_size=3))
def test_any_text_fits_and_survives_json(messages):
    space, observation = ObservationSpace(), Observation(messages)
    assert observation in space
    [back] = space.from_jsonable(json.loads(json.dumps(space.to_jsonable([observation]))))
    assert back == observation
    assert isinstance(back, Observation)


def test_samples_are_members_and_repeat_with_their_seed():
    space, other = ObservationSpace(seed=5), ObservationSpace(seed=5)
    samples = [space.sample() for _ in range(200)]
    assert samples == [other.sample() for _ in range(200)]
    assert all(sample in space for sample in samples)
    text = "".join(one.content for sample in samples for one in sample)
    assert any(ord(letter) > 0xFFFF for letter in text)
    assert any(letter.isascii() for letter in text)
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))) == samples


@pytest.mark.parametrize("value", [
    None, "text", [Message("user", "a")], (5,), (Message("user", None),), (Message("system", "a"),), Observation((final("a"),)),
    (Message("user", "\ud800"),), (Message("tool", "a", (), "\udfff"),), ({"role": "user", "content": "a"},),
])
def test_what_is_no_observation(value):
    assert value not in ObservationSpace()


def test_there_is_nothing_to_mask():
    with pytest.raises(ValueError, match="neither mask nor probability"):
        ObservationSpace().sample(mask=1)


@pytest.mark.parametrize("copy", [deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal(copy):
    space = ObservationSpace(seed=3)
    other = copy(space)
    assert other == space != 5
    assert other.sample() == space.sample()
    observation = copy(Observation((Message("user", SPOILABLE),)))
    assert observation == (Message("user", SPOILABLE),)
    assert isinstance(observation, Observation)


def test_it_is_no_array():
    assert not ObservationSpace().is_np_flattenable
    assert repr(ObservationSpace()) == "ObservationSpace()"

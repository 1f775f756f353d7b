"""Spaces: observations and actions as arrays and back, spaces as JSON and back, and what is refused."""

import json
import tracemalloc
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Space,
    Text,
    Tuple,
    flatten,
)

from udrl.errors import UserError
from udrl.spaces import Actions, Observations, space_from_json, space_to_json

BOX = Box(np.array([0.0, -2.0], np.float32), np.array([4.0, 2.0], np.float32))


def restored(space: Space[Any]) -> Space[Any]:
    return space_from_json(json.loads(json.dumps(space_to_json(space))))


@pytest.mark.parametrize(
    ("space", "observation", "expected"),
    [
        (BOX, np.array([1.0, -1.0], np.float64), [1.0, -1.0]),
        (Box(-1, 1, ()), np.float32(0.5), [0.5]),
        (Box(0, 9, (2, 2), np.int64), np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (Discrete(3), 2, [0, 0, 1]),
        (Discrete(3, start=5), 6, [0, 1, 0]),
        (MultiDiscrete([2, 3]), np.array([1, 0]), [0, 1, 1, 0, 0]),
        (MultiBinary(3), np.array([1, 0, 1]), [1, 0, 1]),
        (Dict({"b": Discrete(2), "a": Box(-9, 9, (1,))}), {"a": np.array([7.0]), "b": 1}, [7, 0, 1]),
        (Tuple([Discrete(2), Box(-9, 9, (2,))]), (0, np.array([3.0, 4.0])), [1, 0, 3, 4]),
        (Dict({"x": Tuple([Discrete(2), Discrete(2)])}), {"x": (1, 0)}, [0, 1, 1, 0]),
    ],
)
def test_observations_become_numbers(space: Space[Any], observation: Any, expected: Any):
    observations = Observations(space)
    encoded = observations.encode(observation)
    np.testing.assert_array_equal(encoded, np.array(expected))
    assert encoded.shape == observations.shape
    assert encoded.dtype == observations.dtype == np.float32


def test_images_stay_bytes():
    observations = Observations(Box(0, 255, (2, 3), np.uint8))
    assert observations.encode(np.full((2, 3), 200, np.uint8)).dtype == observations.dtype == np.uint8


@pytest.mark.parametrize(
    ("space", "numbers", "expected"),
    [
        (Discrete(3), [2], 2),
        (Discrete(3, start=-1), [0], -1),
        (MultiDiscrete([2, 3]), [1, 2], [1, 2]),
        (MultiDiscrete([2, 3], start=[10, 20]), [1, 2], [11, 22]),
        (MultiDiscrete(np.array([[2, 3], [4, 5]])), [1, 2, 3, 4], [[1, 2], [3, 4]]),
        (MultiBinary(2), [0, 1], [0, 1]),
        (MultiBinary([2, 2]), [0, 1, 1, 0], [[0, 1], [1, 0]]),
    ],
)
def test_discrete_actions_go_to_the_environment_and_back(space: Space[Any], numbers: list[int], expected: Any):
    actions = Actions(space)
    (decoded,) = actions.decode(np.array([numbers], np.int32))
    np.testing.assert_array_equal(decoded, expected)
    assert space.contains(decoded)
    np.testing.assert_array_equal(actions.encode(decoded), numbers)
    assert actions.encode(decoded).dtype == actions.dtype == np.int32
    assert actions.k == len(numbers)


@pytest.mark.parametrize(
    ("space", "sizes"),
    [
        (Discrete(3, start=2), (3,)),
        (MultiDiscrete(np.array([[2, 3], [4, 5]])), (2, 3, 4, 5)),
        (MultiBinary([2, 2]), (2, 2, 2, 2)),
        (BOX, ()),
    ],
)
def test_the_number_of_choices_of_each_component(space: Space[Any], sizes: tuple[int, ...]):
    actions = Actions(space)
    assert actions.sizes == sizes
    assert actions.is_discrete == bool(sizes)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([-1, -1], [0, -2]), ([1, 1], [4, 2]), ([0, 0], [2, 0]), ([0.5, -0.5], [3, -1]), ([-7, 9], [0, 2])],
)
def test_continuous_actions_are_clipped_and_stretched_to_the_bounds(numbers: list[float], expected: list[float]):
    (decoded,) = Actions(BOX).decode(np.array([numbers], np.float32))
    np.testing.assert_allclose(decoded, expected, atol=1e-6)
    assert BOX.contains(decoded)


def test_encoding_a_continuous_action_undoes_decoding():
    actions = Actions(Box(np.array([[0, -2], [5, -1]], np.float32), np.array([[4, 2], [6, 9]], np.float32)))
    numbers = np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32)
    encoded = [actions.encode(action) for action in actions.decode(numbers)]
    np.testing.assert_allclose(encoded, numbers, atol=1e-5)


def test_an_action_that_cannot_vary_is_still_encoded_as_a_number():
    actions = Actions(Box(np.array([1.0], np.float32), np.array([1.0], np.float32)))
    (decoded,) = actions.decode(np.array([[0.3]], np.float32))
    np.testing.assert_array_equal(decoded, [1.0])
    assert np.isfinite(actions.encode(decoded)).all()


def test_a_batch_of_actions_is_decoded_row_by_row():
    assert Actions(Discrete(4, start=1)).decode(np.array([[0], [3]], np.int32)) == [1, 4]


@pytest.mark.parametrize(
    "space",
    [Text(5), Graph(BOX, None), Sequence(BOX), Dict({"t": Text(5)}), Tuple([Sequence(Discrete(2))])],
)
def test_observations_that_are_not_supported_are_named_with_those_that_are(space: Space[Any]):
    named = type(space).__name__
    with pytest.raises(UserError, match=rf"{named}.*Box, Discrete, MultiDiscrete, MultiBinary"):
        Observations(space)


@pytest.mark.parametrize(
    "space",
    [
        Box(-np.inf, np.inf, (2,)),
        Box(-1, np.inf, (2,)),
        Box(0, 5, (2,), np.int64),
        Text(5),
        Graph(BOX, None),
        Sequence(BOX),
        Dict({"a": Discrete(2)}),
        Tuple([Discrete(2)]),
    ],
)
def test_actions_that_are_not_supported_are_named_with_those_that_are(space: Space[Any]):
    with pytest.raises(UserError, match=rf"{type(space).__name__}.*Discrete, bounded Box"):
        Actions(space)


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        Box(-np.inf, np.inf, (3,)),
        Box(np.array([-np.inf, 0.0], np.float32), np.array([1.0, np.inf], np.float32)),
        Box(0, 255, (4, 4, 3), np.uint8),
        Box(-1, 1, ()),
        Box(-1, 1, (2,), np.float64),
        Box(-5, 5, (2,), np.int64),
        Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (2,), np.int64),
        Discrete(4),
        Discrete(4, start=-2),
        MultiDiscrete([2, 3], start=[1, 2]),
        MultiDiscrete(np.array([[2, 3], [4, 5]])),
        MultiBinary(5),
        MultiBinary([2, 3]),
        Dict({"b": Discrete(2), "a": Dict({"c": BOX})}),
        Tuple([Discrete(2), Tuple([MultiBinary(1)])]),
    ],
    ids=str,
)
def test_a_space_comes_back_from_json_as_it_was(space: Space[Any]):
    back = restored(space)
    assert back == space
    assert back.shape == space.shape
    assert back.dtype == space.dtype


def test_a_dict_comes_back_with_its_parts_in_the_same_order():
    space = Dict(OrderedDict([("b", Discrete(2)), ("a", Box(-9, 9, (1,)))]))
    observation = {"a": np.array([7.0], np.float32), "b": 1}
    np.testing.assert_array_equal(flatten(restored(space), observation), flatten(space, observation))


def test_a_space_that_is_not_supported_is_not_saved():
    with pytest.raises(UserError, match="Text"):
        space_to_json(Text(5))


def box(**changes: Any) -> dict[str, Any]:
    return {"kind": "Box", "shape": [2], "dtype": "float32", "low": [0], "high": [1], **changes}


def discrete(n: Any, start: Any = 0) -> dict[str, Any]:
    return {"kind": "Discrete", "n": n, "start": start}


def multi_discrete(nvec: Any, start: Any) -> dict[str, Any]:
    return {"kind": "MultiDiscrete", "nvec": nvec, "start": start}


def nested(depth: int) -> dict[str, Any]:
    description = discrete(2)
    for _ in range(depth):
        description = {"kind": "Tuple", "spaces": [description]}
    return description


HOSTILE: dict[str, Any] = {
    "null": None,
    "list": [],
    "string": "Box",
    "number": 3,
    "empty": {},
    "kind is a list": {"kind": ["Box"]},
    "kind is unknown": {"kind": "Text", "max_length": 3},
    "huge shape": box(shape=[10**12]),
    "huge product of a shape": box(shape=[10**6, 10**6, 10**6]),
    "shape larger than bounds": box(low=[0, 0, 0]),
    "negative shape": box(shape=[-1]),
    "two negative sizes": box(shape=[-1, -1]),
    "fractional shape": box(shape=[2.5]),
    "shape is a number": box(shape=3),
    "shape is a string": box(shape="ab"),
    "zero shape": box(shape=[0]),
    "object dtype": box(dtype="object"),
    "wide dtype": box(dtype="S100000000"),
    "wide void dtype": box(dtype="V100000000"),
    "record dtype": box(dtype="f4,f4"),
    "broken dtype": box(dtype="(,"),
    "dtype is a number": box(dtype=3),
    "unknown dtype": box(dtype="float31"),
    "bound is no number": box(low=["x"]),
    "bound is NaN": box(low=["nan"]),
    "bound is a list": box(low=[[0]]),
    "bound is too large": box(low=[10**400]),
    "bounds are crossed": box(low=[2]),
    "no choices": discrete(0),
    "fractional choices": discrete(2.5),
    "choices are a string": discrete("2"),
    "huge choices": discrete(10**15),
    "choices beyond 64 bits": discrete(10**30),
    "start beyond 64 bits": discrete(2, 10**30),
    "empty nvec": multi_discrete([], []),
    "ragged nvec": multi_discrete([[1], [2, 3]], [0, 0]),
    "nvec of strings": multi_discrete(["a"], [0]),
    "nvec and start differ": multi_discrete([2], [0, 0]),
    "huge nvec": multi_discrete([10**15], [0]),
    "nvec beyond 64 bits": multi_discrete([10**30], [0]),
    "huge MultiBinary": {"kind": "MultiBinary", "shape": [10**9]},
    "negative MultiBinary": {"kind": "MultiBinary", "shape": [-1]},
    "MultiBinary of a string": {"kind": "MultiBinary", "shape": "ab"},
    "Dict of a list": {"kind": "Dict", "spaces": []},
    "empty Dict": {"kind": "Dict", "spaces": {}},
    "Dict of numbers": {"kind": "Dict", "spaces": {"a": 3}},
    "empty Tuple": {"kind": "Tuple", "spaces": []},
    "Tuple of nothing": {"kind": "Tuple", "spaces": None},
    "deep Tuple": nested(2000),
}


@pytest.mark.parametrize("description", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_description_is_refused_without_taking_memory(description: Any):
    tracemalloc.start()
    try:
        with pytest.raises(UserError):
            space_from_json(description)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000

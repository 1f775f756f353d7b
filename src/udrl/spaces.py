"""Observations and actions of any environment as plain arrays, and spaces as JSON (so that a file runs no code)."""

import math
import operator
from collections import OrderedDict
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple, flatten, flatten_space

from udrl.errors import UserError

SUPPORTED_OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these"
SUPPORTED_ACTIONS = "Discrete, bounded Box, MultiDiscrete and MultiBinary"


class Observations:
    """Encodes an observation as an array: a Box as it is, Discrete one-hot, Dict and Tuple flattened."""

    def __init__(self, space: Space[Any]) -> None:
        self.space = space
        if not _can_flatten(space):
            raise UserError(f"Observations of {_name(space)} are not supported; {SUPPORTED_OBSERVATIONS} are.")
        self.is_plain = isinstance(space, Box)
        encoded = space if isinstance(space, Box) else flatten_space(space)
        assert encoded.shape is not None
        self.shape: tuple[int, ...] = encoded.shape or (1,)
        # Bytes stay bytes, so that a replay of images stays small; everything else is float32.
        self.dtype = np.dtype(np.uint8 if encoded.dtype == np.uint8 and self.is_plain else np.float32)

    def encode(self, observation: Any) -> np.ndarray:  # [*shape]
        if not self.is_plain:
            observation = flatten(self.space, observation)
        return np.array(observation, self.dtype).reshape(self.shape)  # a copy: environments may reuse theirs


class Actions:
    """Decodes the behavior function's action, k numbers, into what the environment takes."""

    def __init__(self, space: Space[Any]) -> None:
        self.space = space
        self.sizes: tuple[int, ...] = ()
        """Number of choices of each discrete component; empty for continuous actions."""
        if isinstance(space, Discrete):
            self.sizes = (int(space.n),)
        elif isinstance(space, MultiDiscrete):
            self.sizes = tuple(int(n) for n in space.nvec.flat)
        elif isinstance(space, MultiBinary):
            self.sizes = (2,) * int(np.prod(space.shape))
        elif not (isinstance(space, Box) and space.is_bounded() and np.issubdtype(space.dtype, np.floating)):
            raise UserError(f"Actions of {_name(space)} are not supported; {SUPPORTED_ACTIONS} are.")
        self.is_discrete = bool(self.sizes)
        self.k = len(self.sizes) or int(np.prod(space.shape or (1,)))
        """Components of one action."""
        self.dtype = np.dtype(np.int32 if self.is_discrete else np.float32)

    def decode(self, actions: np.ndarray) -> list[Any]:  # [n, k] -> n actions for the environment
        """What environments in Python take, one by one."""
        decoded = self.decode_batch(actions)
        return decoded.tolist() if isinstance(self.space, Discrete) else list(decoded)

    def decode_batch(self, actions: np.ndarray) -> np.ndarray:  # [n, k] -> [n, *action]
        """Discrete actions by their start; continuous ones clipped to [-1, 1] and stretched to the bounds."""
        space = self.space
        if isinstance(space, Discrete):
            return actions[:, 0] + int(space.start)
        if isinstance(space, Box):
            low, high = space.low, space.high
            unit = actions.reshape(-1, *low.shape) * 0.5 + 0.5
            return np.clip(low + unit * (high - low), low, high).astype(space.dtype)
        if isinstance(space, MultiDiscrete):
            return (actions.reshape(-1, *space.nvec.shape) + space.start).astype(space.dtype)
        return actions.reshape(-1, *(space.shape or ())).astype(space.dtype or np.int8)

    def encode(self, action: Any) -> np.ndarray:  # [k]
        """The inverse of `decode` for one action: a demonstration's, say."""
        space = self.space
        if isinstance(space, Box):
            span = np.where(space.high > space.low, space.high - space.low, 1.0)
            return ((np.asarray(action) - space.low) / span * 2.0 - 1.0).astype(np.float32).reshape(self.k)
        start = space.start if isinstance(space, Discrete | MultiDiscrete) else 0
        return (np.asarray(action) - start).astype(np.int32).reshape(self.k)


def _can_flatten(space: Space[Any]) -> bool:
    if isinstance(space, Dict):
        return all(_can_flatten(part) for part in space.spaces.values())
    if isinstance(space, Tuple):
        return all(_can_flatten(part) for part in space.spaces)
    return isinstance(space, Box | Discrete | MultiDiscrete | MultiBinary)


def _name(space: Space[Any]) -> str:
    """What a space is, for an error: its kind, and what about it is not supported."""
    if isinstance(space, Box):
        return f"an unbounded or integer Box {space.shape}"
    if isinstance(space, Dict | Tuple):
        parts = space.spaces.values() if isinstance(space, Dict) else space.spaces
        return f"{type(space).__name__} with " + ", ".join(type(part).__name__ for part in parts)
    return type(space).__name__


def space_to_json(space: Space[Any]) -> dict[str, Any]:
    """A description of a supported space that `space_from_json` understands."""
    match space:
        case Box():
            bounds = {"low": _bounds_to_json(space.low), "high": _bounds_to_json(space.high)}
            return {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype), **bounds}
        case Discrete():
            return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
        case MultiDiscrete():
            return {"kind": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
        case MultiBinary():
            return {"kind": "MultiBinary", "n": space.n if isinstance(space.n, int) else list(space.shape)}
        case Dict():
            return {"kind": "Dict", "spaces": {name: space_to_json(part) for name, part in space.spaces.items()}}
        case Tuple():
            return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
        case _:
            raise UserError(f"A space of kind {_name(space)} cannot be saved.")


def space_from_json(data: Any) -> Space[Any]:
    """The space that `space_to_json` described; anything else is refused, before it takes memory."""
    try:
        if not 0 < _size(data) <= _LARGEST_SPACE:
            raise ValueError(f"it has no numbers, or more than {_LARGEST_SPACE}")
        return _build(data)
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError) as error:
        raise UserError(f"The description of a space is not valid ({error or type(error).__name__}).") from None


_LARGEST_SPACE = 1 << 22
"""Numbers of an encoded observation or action: no description of a few bytes may ask for more memory."""
_DTYPES = ("float16", "float32", "float64", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


def _size(data: Any) -> int:
    """How many numbers the encoding of a described space takes."""
    match data["kind"]:
        case "Box":
            return math.prod(map(operator.index, data["shape"]))
        case "Discrete":
            return operator.index(data["n"])
        case "MultiDiscrete":
            return int(np.array(data["nvec"], object).sum())
        case "MultiBinary":
            return math.prod(np.array(data["n"], object).ravel().tolist())
        case "Dict":
            return sum(map(_size, data["spaces"].values()))
        case "Tuple":
            return sum(map(_size, data["spaces"]))
        case kind:
            raise ValueError(f"there is no space of kind '{kind}'")


def _build(data: Any) -> Space[Any]:
    match data["kind"]:
        case "Box":
            if data["dtype"] not in _DTYPES:
                raise ValueError(f"there is no dtype '{data['dtype']}'")
            shape, dtype = tuple(data["shape"]), np.dtype(data["dtype"])
            low, high = (_bounds_from_json(data[side], shape, dtype) for side in ("low", "high"))
            return Box(low, high, shape, dtype.type)
        case "Discrete":
            return Discrete(operator.index(data["n"]), start=operator.index(data["start"]))
        case "MultiDiscrete":
            return MultiDiscrete(np.array(data["nvec"], np.int64), start=np.array(data["start"], np.int64))
        case "MultiBinary":
            return MultiBinary(data["n"])
        case "Dict":
            # Pairs keep their order; a plain dict would be sorted, and the encoding with it.
            return Dict(OrderedDict((name, _build(part)) for name, part in data["spaces"].items()))
        case _:
            return Tuple([_build(part) for part in data["spaces"]])


def _bounds_to_json(bounds: np.ndarray) -> Any:
    # Most bounds are one number; infinities are no JSON numbers, so they become strings.
    values = bounds.ravel().tolist()
    values = values[:1] if len(set(values)) == 1 else values
    return [value if math.isfinite(value) else str(value) for value in values]


def _bounds_from_json(values: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    numbers = np.array([float(value) if isinstance(value, str) else value for value in values], dtype)
    return np.broadcast_to(numbers, (math.prod(shape),)).reshape(shape)


def spaces_of(environment: gym.Env[Any, Any]) -> tuple[Observations, Actions]:
    """Both sides of an environment, or a sentence about what of it is not supported."""
    return Observations(environment.observation_space), Actions(environment.action_space)

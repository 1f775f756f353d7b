"""Observations and actions of any environment as plain arrays, and spaces as JSON (so that a file runs no code)."""

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
        return np.asarray(observation, self.dtype).reshape(self.shape)


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
        """Discrete actions by their start; continuous ones clipped to [-1, 1] and stretched to the bounds."""
        space = self.space
        if isinstance(space, Discrete):
            return (actions[:, 0] + int(space.start)).tolist()
        if isinstance(space, Box):
            low, high = space.low, space.high
            unit = np.clip(actions, -1.0, 1.0).reshape(-1, *low.shape)
            return list(np.clip(low + (unit + 1.0) * 0.5 * (high - low), low, high).astype(space.dtype))
        if isinstance(space, MultiDiscrete):
            return list((actions.reshape(-1, *space.nvec.shape) + space.start).astype(space.dtype))
        return list(actions.reshape(-1, *(space.shape or ())).astype(space.dtype or np.int8))

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
            return {"kind": "MultiBinary", "shape": list(space.shape)}
        case Dict():
            return {"kind": "Dict", "spaces": {name: space_to_json(part) for name, part in space.spaces.items()}}
        case Tuple():
            return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
        case _:
            raise UserError(f"A space of kind {_name(space)} cannot be saved.")


def space_from_json(data: Any) -> Space[Any]:
    """The space that `space_to_json` described; anything else is refused."""
    try:
        match data["kind"]:
            case "Box":
                shape, dtype = tuple(data["shape"]), np.dtype(data["dtype"])
                low, high = _bounds_from_json(data["low"], shape), _bounds_from_json(data["high"], shape)
                return Box(low.astype(dtype), high.astype(dtype), shape, dtype.type)
            case "Discrete":
                return Discrete(data["n"], start=data["start"])
            case "MultiDiscrete":
                return MultiDiscrete(np.array(data["nvec"]), start=np.array(data["start"]))
            case "MultiBinary":
                return MultiBinary(data["shape"])
            case "Dict":
                return Dict({name: space_from_json(part) for name, part in data["spaces"].items()})
            case "Tuple":
                return Tuple([space_from_json(part) for part in data["spaces"]])
            case kind:
                raise UserError(f"There is no space of kind '{kind}'.")
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise UserError(f"The description of a space is not valid ({error}).") from None


_LARGEST_SPACE = 1 << 26  # numbers; no description of a few bytes may ask for more memory than that


def _bounds_to_json(bounds: np.ndarray) -> Any:
    # Most bounds are one number; infinities are no JSON numbers, so they become strings.
    values = bounds.ravel().tolist()
    values = values[:1] if len(set(values)) == 1 else values
    return [value if np.isfinite(value) else str(value) for value in values]


def _bounds_from_json(values: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape, dtype=object))
    if not 0 < size <= _LARGEST_SPACE or len(values) not in (1, size):
        raise ValueError(f"bounds do not fit shape {shape}")
    return np.broadcast_to(np.array([float(value) for value in values]), (size,)).reshape(shape)


def spaces_of(environment: gym.Env[Any, Any]) -> tuple[Observations, Actions]:
    """Both sides of an environment, or a sentence about what of it is not supported."""
    return Observations(environment.observation_space), Actions(environment.action_space)

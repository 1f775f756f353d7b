"""What steps many copies of one environment: Gymnasium's copies in Python, or EnvPool's in C++."""

import functools
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, cast

import gymnasium as gym
import numpy as np

from udrl.errors import TrainingError, UserError, nearest
from udrl.spaces import Actions, Observations, spaces_of

EnvironmentFactory = Callable[[], gym.Env[Any, Any]]

gym.register("udrl/TakeCover-v0", "udrl.takecover:TakeCover")

SAME_IN_ENVPOOL = ("LunarLander-v3", "Swimmer-v4", "InvertedDoublePendulum-v4")
"""What EnvPool is known to step faster and to have as the same task: tests/test_engines.py compares them."""


MOST_COPIES = 100
"""As many as the paper's evaluations have."""


class StepResult(NamedTuple):
    """What a step of n running copies gave."""

    observations: np.ndarray  # [n, *observation]
    rewards: np.ndarray  # [n] float64
    terminated: np.ndarray  # [n] bool
    truncated: np.ndarray  # [n] bool


class Engine(Protocol):
    """Copies of one environment that start together."""

    observations: Observations
    actions: Actions
    most_copies: int
    """How many episodes may run at a time."""

    def start(self, seeds: Sequence[int]) -> np.ndarray:  # [B, *observation]
        """Begin one episode per seed, in as many copies."""
        ...

    def step(self, running: np.ndarray, actions: np.ndarray) -> StepResult:
        """Step the copies numbered `running` [n], each with its action [n, k]."""
        ...

    def close(self) -> None: ...


class GymnasiumEngine:
    """Copies in a plain list; they are made when they are first needed, and kept."""

    def __init__(self, make: EnvironmentFactory) -> None:
        self._make = make
        self._copies: list[gym.Env[Any, Any]] = [make()]
        if not isinstance(self._copies[0], gym.Env):
            raise UserError(f"An environment must be a gymnasium.Env, not {type(self._copies[0]).__name__}.")
        self.observations, self.actions = spaces_of(self._copies[0])
        # An environment that takes much of a machine, such as a game in a process of its own, says so itself.
        self.most_copies = int(self._copies[0].metadata.get("most_copies", MOST_COPIES))
        self._seeds: Sequence[int] = ()
        self._t = 0

    def start(self, seeds: Sequence[int]) -> np.ndarray:  # [B, *observation]
        while len(self._copies) < len(seeds):
            self._copies.append(self._make())
        self._seeds, self._t = seeds, 0
        observations = np.empty((len(seeds), *self.observations.shape), self.observations.dtype)
        for i, seed in enumerate(seeds):
            try:
                observations[i] = self.observations.encode(self._copies[i].reset(seed=seed)[0])
            except Exception as error:
                raise TrainingError(self._failure(i, error)) from error
        return observations

    def step(self, running: np.ndarray, actions: np.ndarray) -> StepResult:
        n = len(running)
        observations = np.empty((n, *self.observations.shape), self.observations.dtype)
        rewards = np.empty(n, np.float64)
        terminated, truncated = np.empty(n, bool), np.empty(n, bool)
        encode = None if self.observations.is_plain else self.observations.encode
        for row, (i, action) in enumerate(zip(running.tolist(), self.actions.decode(actions), strict=True)):
            try:
                observation, rewards[row], terminated[row], truncated[row], _ = self._copies[i].step(action)
                observations[row] = observation if encode is None else encode(observation)
            except Exception as error:
                raise TrainingError(self._failure(i, error)) from error
        self._t += 1
        return StepResult(observations, rewards, terminated, truncated)

    def close(self) -> None:
        for copy in self._copies:
            copy.close()

    def _failure(self, i: int, error: Exception) -> str:
        return (
            f"The environment raised {type(error).__name__}: {error} "
            f"(episode with environment seed {self._seeds[i]}, step {self._t})."
        )


class EnvPoolEngine:
    """EnvPool takes its seeds when it is made, so it is made anew for each batch of episodes: that is cheap.

    Spaces are Gymnasium's, so that an agent does not depend on what stepped its environment. The same seed gives the
    same start, but not the one that Gymnasium gives.
    """

    def __init__(self, env_id: str) -> None:
        reference = find_environment(env_id)()
        self.observations, self.actions = spaces_of(reference)
        reference.close()
        self.most_copies = MOST_COPIES
        self._env_id = env_id
        self._pool: Any = None
        # Gymnasium clips nothing and decides the type by the space; MuJoCo computes in float64.
        self._action_type = np.dtype(np.int32 if self.actions.is_discrete else np.float64)

    def start(self, seeds: Sequence[int]) -> np.ndarray:  # [B, *observation]
        import envpool

        self.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bounds of spaces that lose precision, which nobody here reads
            self._pool = envpool.make(
                self._env_id, env_type="gymnasium", num_envs=len(seeds), env_seed=list(seeds), num_threads=1
            )
        return self._pool.reset()[0].astype(self.observations.dtype, copy=False)

    def step(self, running: np.ndarray, actions: np.ndarray) -> StepResult:
        actions = self.actions.decode_batch(actions).astype(self._action_type, copy=False)
        observations, rewards, terminated, truncated, _ = self._pool.step(actions, running.astype(np.int32))
        return StepResult(
            observations.astype(self.observations.dtype, copy=False), rewards.astype(np.float64), terminated, truncated
        )

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def make_engine(kind: Literal["gymnasium", "envpool"], env_id: str, factory: EnvironmentFactory | None) -> Engine:
    """The engine for an environment by name, or for a factory of the user's own."""
    if kind == "envpool":
        return EnvPoolEngine(env_id)
    return GymnasiumEngine(factory or find_environment(env_id))


def choose_engine(
    wanted: Literal["auto", "gymnasium", "envpool"], env_id: str, factory: EnvironmentFactory | None = None
) -> Literal["gymnasium", "envpool"]:
    """What `auto` means here; an engine that was asked for and cannot be had is refused."""
    is_installed = importlib.util.find_spec("envpool") is not None
    if wanted == "auto":
        return "envpool" if factory is None and is_installed and env_id in SAME_IN_ENVPOOL else "gymnasium"
    if wanted == "envpool":
        if not is_installed:
            raise UserError("The EnvPool engine needs an extra: pip install 'udrl[envpool]'.")
        if factory is not None or ":" in env_id:
            raise UserError("EnvPool steps only environments of its own: leave --engine out for a factory.")
        import envpool

        if env_id not in envpool.list_all_envs():
            raise UserError(f"EnvPool has no '{env_id}': leave --engine out.")
    return wanted


def find_environment(env_id: str, render_mode: str | None = None) -> EnvironmentFactory:
    """A maker of the environment called `env_id`: a name of Gymnasium's, or `module:function`."""
    module, _, function = env_id.rpartition(":")
    if module and function not in gym.registry and not _has_version(function):
        try:
            factory = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise UserError(f"The environment factory '{env_id}' cannot be imported: {error}.") from None
        if not callable(factory):
            raise UserError(f"The environment factory '{env_id}' is no function that makes an environment.")
        return with_render_mode(cast(EnvironmentFactory, factory), render_mode)
    _check_known(env_id)
    return lambda: _make(env_id, render_mode)


def with_render_mode(factory: EnvironmentFactory, render_mode: str | None) -> EnvironmentFactory:
    """The same factory told how to draw, if it takes that as an argument: a class of environments does, usually."""
    try:
        takes_it = "render_mode" in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # some callables written in C have no signature
        takes_it = False
    if render_mode is None or not takes_it:
        return factory
    return functools.partial(cast(Callable[..., gym.Env[Any, Any]], factory), render_mode=render_mode)


def _make(env_id: str, render_mode: str | None = None) -> gym.Env[Any, Any]:
    with warnings.catch_warnings():
        # The closest living relatives of the paper's tasks: v5 changed rewards and observations.
        old = "(Swimmer|InvertedDoublePendulum)-v4"
        warnings.filterwarnings("ignore", f".*The environment {old} is out of date", DeprecationWarning)
        if render_mode is None:
            return gym.make(env_id, disable_env_checker=True)
        # What it warns of is said by whoever asks for the first picture, and gets none.
        warnings.filterwarnings("ignore", ".*not in the possible render_modes")
        return gym.make(env_id, disable_env_checker=True, render_mode=render_mode)


def _extra(env_id: str, error: Exception) -> str:
    """What to install: Gymnasium's own advice, but for the tasks that have an extra of ours."""
    return "pip install 'udrl[mujoco]'." if "mujoco" in str(error).lower() else str(error)


def _has_version(name: str) -> bool:
    return name.rpartition("-v")[2].isdigit()


def _check_known(env_id: str) -> None:
    try:
        _make(env_id).close()
    except gym.error.DependencyNotInstalled as error:
        raise UserError(f"'{env_id}' needs a package that is missing: {_extra(env_id, error)}") from None
    except (gym.error.Error, ImportError, ValueError, TypeError) as error:
        raise UserError(f"'{env_id}' cannot be made: {error}{nearest(env_id, list(gym.registry))}") from None
    except (AttributeError, RuntimeError) as error:  # MuJoCo's, at import, where MUJOCO_GL asks for what is missing
        raise UserError(f"'{env_id}' cannot be made: {error}.{opengl_advice(env_id)}") from None


def opengl_advice(env_id: str) -> str:
    """What helps where MuJoCo cannot draw; nothing for an environment that is not drawn by it."""
    spec = gym.registry.get(env_id)
    if "mujoco" not in sys.modules and not (spec and "mujoco" in str(spec.entry_point)):
        return ""
    return (
        " MuJoCo draws with OpenGL: install libegl1 and libgl1-mesa-dri (their names in Debian) and set MUJOCO_GL=egl, "
        "or libosmesa6 and MUJOCO_GL=osmesa."
    )

"""What a user loads, commands and deploys: a behavior function with all that is needed to command it."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import numpy as np

from udrl import checkpoint
from udrl.behavior import BehaviorFunction, Network, make_behavior
from udrl.command import Command
from udrl.config import Config
from udrl.engines import EnvironmentFactory
from udrl.environments import make_environments
from udrl.errors import UserError
from udrl.evaluation import Evaluation, evaluate, evaluation_batch, how_to_evaluate
from udrl.exploration import Aim
from udrl.follower import Follower
from udrl.rollout import Act, Actor, Rollouts, parameters_of
from udrl.spaces import Actions, Observations, space_from_json, space_to_json

AGENT_FILE, BEST_AGENT_FILE = "agent.safetensors", "best_agent.safetensors"


@dataclasses.dataclass(frozen=True)
class Experience:
    """What an agent has been trained on: the range of orders that it may know how to obey."""

    env_steps: int = 0
    return_min: float = math.inf
    return_max: float = -math.inf
    horizon_min: int = 0
    horizon_max: int = 0

    def with_episodes(self, returns: np.ndarray, lengths: np.ndarray, env_steps: int) -> "Experience":
        """This experience and some more episodes."""
        first = self.return_min > self.return_max
        return Experience(
            env_steps,
            min(self.return_min, float(returns.min())),
            max(self.return_max, float(returns.max())),
            int(lengths.min()) if first else min(self.horizon_min, int(lengths.min())),
            max(self.horizon_max, int(lengths.max())),
        )


@dataclasses.dataclass(frozen=True)
class Agent:
    """A trained agent: `act` answers one observation, `follow` carries a command through an episode."""

    behavior: BehaviorFunction
    config: Config
    observations: Observations
    actions: Actions
    aim: Aim
    """What the best episodes of the end of training achieved."""
    experience: Experience
    task: str | None = None
    """The name of the task it was trained on, if that has one."""

    @property
    def evaluation_command(self) -> Command:
        """The paper's evaluation command at the end of training: as much as its best episodes obtained."""
        return self.aim.evaluation_command()

    @property
    def exploratory_commands(self) -> tuple[float, float]:
        """The returns that the last exploration asked for: from M to M + S."""
        return self.aim.mean_return, self.aim.mean_return + self.aim.std_return

    def act(
        self,
        observation: Any,
        command: Command | None = None,
        deterministic: bool | None = None,
        rng: np.random.Generator | int = 0,
    ) -> Any:
        """The environment's action for an observation, or the actions for a batch of them, under `command`.

        A batch is an array with one more axis, or a list of observations. Without `deterministic` discrete actions
        are sampled and continuous ones are the mode, as in the paper's evaluation; `rng` draws the samples. For an
        agent with a `frame_stack` an observation is so many of the newest, the oldest first (`follow` stacks them).
        """
        is_batch = self._is_batch(observation)
        encoded = np.stack([self._encode_seen(one) for one in (observation if is_batch else [observation])])
        actions = self.answer(encoded, command or self.evaluation_command, deterministic, np.random.default_rng(rng))
        return np.stack(actions) if is_batch else actions[0]

    def answer(
        self, seen: np.ndarray, command: Command, deterministic: bool | None, rng: np.random.Generator
    ) -> list[Any]:
        """`act` for encoded observations [n, *o]."""
        noise = self.behavior.distribution.draw_noise(rng, len(seen))
        command = command.checked()
        return self.actions.decode(self._act(deterministic)(seen, command.as_array(len(seen)), noise))

    def distribution(self, observation: Any, command: Command | None = None) -> np.ndarray:
        """What `act` draws from for one observation: the probabilities of the choices of each discrete component, one
        component after the other; or [2, k], mean and deviation of continuous actions in the environment's units."""
        return self.describe_actions(self._encode_seen(observation)[None], command or self.evaluation_command)

    def describe_actions(self, seen: np.ndarray, command: Command) -> np.ndarray:
        """`distribution` for an encoded observation [1, *o]."""
        noise = np.zeros((1, self.actions.k), np.float32)
        describe = self._actor.act(parameters_of(self.behavior), "describe")
        described = describe(seen, command.checked().as_array(1), noise)[0]
        if self.actions.is_discrete:
            return described
        mean, std = described.reshape(2, -1)
        space = self.actions.space
        assert isinstance(space, gym.spaces.Box)
        return np.stack([self.actions.decode(mean[None])[0].ravel(), std * (space.high - space.low).ravel() / 2])

    def follow(
        self,
        command: Command | None = None,
        seed: int | np.random.Generator = 0,
        deterministic: bool | None = None,
    ) -> Follower:
        """An object that obeys `command` (the evaluation command if none) through one episode."""
        return Follower(self, (command or self.evaluation_command).checked(), seed, deterministic)

    def evaluate(
        self,
        command: Command | None = None,
        episodes: int | None = None,
        seed: int = 0,
        environment: EnvironmentFactory | None = None,
        quiet: bool = True,
    ) -> Evaluation:
        """Obey `command` (the evaluation command if none) in many episodes with the paper's evaluation seeds.

        An agent of an environment that is no plain Gymnasium name needs it as `environment`, a function that makes
        one: a file from a stranger must not decide what is imported.
        """
        self.check_may_make(environment)
        # Whatever stepped its environment in training: here it may not be installed.
        environments = make_environments(dataclasses.replace(self.config, engine="auto"), environment)
        try:
            self.check_spaces(environments.observations.space, environments.actions.space)
            command = (command or self.evaluation_command).checked()
            batch = evaluation_batch(command, self.config, self.actions.is_discrete, seed, 0, episodes)
            return evaluate(Rollouts(environments, self.behavior), parameters_of(self.behavior), batch, quiet)
        finally:
            environments.close()

    def save(self, path: str | Path) -> None:
        """Write the agent into a file of its own."""
        checkpoint.save(Path(path), "agent", parameters_to_arrays(self.behavior), self.describe())

    @classmethod
    def load(cls, path: str | Path, network: Network | None = None, best: bool = False) -> "Agent":
        """The agent of a file or of a run folder, the newest or the best-evaluated one.

        One that was trained with a network of the user's own needs such a network, of any parameters, here too.
        """
        path = find_agent_file(Path(path), best)
        arrays, document = checkpoint.load(path, "agent")
        try:
            config = Config(**document["config"])
            observations = Observations(space_from_json(document["observation_space"]))
            actions = Actions(space_from_json(document["action_space"]))
            aim, experience = Aim(**document["aim"]), Experience(**document["experience"])
            task, own_network = document["task"], document["network"]
            aim.evaluation_command().checked()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UserError(f"{path} is not a valid agent file ({error}).") from None
        if own_network and network is None:
            raise UserError(f"{path} was trained with a network of its own, {own_network}: give one as network=.")
        skeleton = _skeleton(observations, actions, config, network, path)
        parameters = checkpoint.restore_tree(eqx.filter(skeleton, _is_array_or_shape), arrays, "parameters", path)
        behavior = eqx.combine(parameters, eqx.filter(skeleton, _is_array_or_shape, inverse=True))
        return cls(behavior.bounded(), config, observations, actions, aim, experience, task)

    def describe(self) -> dict[str, Any]:
        """Everything about the agent but its parameters, as JSON."""
        network = self.behavior.network
        is_ours = type(network).__module__.startswith("udrl.")
        return {
            "task": self.task,
            "config": dataclasses.asdict(self.config),
            "network": None if is_ours else type(network).__qualname__,
            "observation_space": space_to_json(self.observations.space),
            "action_space": space_to_json(self.actions.space),
            "aim": dataclasses.asdict(self.aim),
            "experience": dataclasses.asdict(self.experience),
        }

    def _act(self, deterministic: bool | None) -> Act:
        how = how_to_evaluate(self.config.evaluation_actions, self.actions.is_discrete)
        if deterministic is not None:
            how = "mode" if deterministic else "sample"
        return self._actor.act(parameters_of(self.behavior), how)

    @property
    def _actor(self) -> Actor:
        # Kept on the instance, since compiling is what costs; frozen dataclasses allow it only this way.
        if "_compiled" not in self.__dict__:
            object.__setattr__(self, "_compiled", Actor(self.behavior))
        return self.__dict__["_compiled"]

    def _is_batch(self, observation: Any) -> bool:
        is_stacked = self.config.frame_stack > 1
        if isinstance(self.observations.space, gym.spaces.Dict | gym.spaces.Tuple):
            return isinstance(observation[0] if is_stacked else observation, list)
        return np.ndim(observation) > len(self.observations.space.shape or ()) + is_stacked

    def _encode_seen(self, observation: Any) -> np.ndarray:
        k = self.config.frame_stack
        if k == 1:
            return self.encode(observation)
        if len(observation) != k:
            raise UserError(f"The agent sees its {k} newest observations at a time, not {len(observation)}.")
        return np.stack([self.encode(one) for one in observation])

    def encode(self, observation: Any) -> np.ndarray:
        """One observation as the behavior function takes it."""
        try:
            encoded = self.observations.encode(observation)
        except (ValueError, TypeError, KeyError, AssertionError, IndexError) as error:
            raise UserError(f"The observation does not fit {self.observations.space} ({error}).") from None
        if not np.isfinite(encoded).all():
            raise UserError("The observation has values that are not finite.")
        return encoded

    def check_may_make(self, environment: EnvironmentFactory | None) -> None:
        """Refuse to make an environment that only the agent's file names, if that would import what it says."""
        if environment is None and ":" in self.config.env_id:
            raise UserError(
                f"The agent was trained on '{self.config.env_id}', which is not imported on a file's word: "
                "give the environment yourself (--env-id, or environment= in Python)."
            )

    def check_spaces(self, observation: gym.Space[Any], action: gym.Space[Any]) -> None:
        """Refuse an environment with other spaces than those the agent was trained on."""
        if observation != self.observations.space or action != self.actions.space:
            raise UserError(
                f"The environment's spaces ({observation}, {action}) are not those the agent was trained on "
                f"({self.observations.space}, {self.actions.space})."
            )


def find_agent_file(path: Path, best: bool = False) -> Path:
    """The agent's file, of a run folder or as it is named."""
    if not path.is_dir():
        return path
    file = path / (BEST_AGENT_FILE if best else AGENT_FILE)
    if not file.exists():
        raise UserError(f"There is no {file.name} in {path}: a run writes one with its first checkpoint or evaluation.")
    return file


def parameters_to_arrays(behavior: BehaviorFunction) -> dict[str, np.ndarray]:
    """All arrays of a behavior function, by name."""
    return checkpoint.flatten_tree(eqx.filter(behavior, eqx.is_array), "parameters")


def _skeleton(
    observations: Observations, actions: Actions, config: Config, network: Network | None, path: Path
) -> BehaviorFunction:
    """The behavior function with shapes in place of arrays: a file cannot ask for memory that it does not fill."""
    try:
        return eqx.filter_eval_shape(make_behavior, observations, actions, config, jax.random.key(0), network)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise UserError(f"{path} describes a network that cannot be made ({error}).") from None


def _is_array_or_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def agent_from(source: "Agent | str | Path", network: Network | None = None) -> Agent:
    """An agent, or the one of a file or run folder."""
    return source if isinstance(source, Agent) else Agent.load(source, network)


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A fingerprint of arrays, by which a run knows what it was started from."""
    import hashlib

    fingerprint = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        fingerprint.update(f"{name}{array.dtype}{array.shape}".encode())
        fingerprint.update(array.tobytes())
    return fingerprint.hexdigest()[:16]

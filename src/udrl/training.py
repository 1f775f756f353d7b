"""Algorithm 1: warm up, then improve, explore and evaluate in turn."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from udrl.agent import Agent, Experience
from udrl.behavior import BehaviorFunction, Conv, Network, make_behavior
from udrl.command import Command
from udrl.config import Config
from udrl.cores import choose_mesh
from udrl.demonstrations import check_episodes
from udrl.engines import EnvironmentFactory, choose_engine
from udrl.environments import make_environments
from udrl.episode import Episode
from udrl.errors import TrainingError, UserError
from udrl.evaluation import evaluate, evaluation_batch
from udrl.exploration import Aim, ExplorationRule, aim_at_best
from udrl.learner import Learner, LearnerState
from udrl.randomness import Purpose, generator
from udrl.replay import Replay
from udrl.rollout import Batch, Collector, Rollouts, parameters_of
from udrl.run_folder import Metrics
from udrl.segments import sample_examples
from udrl.workers import Workers


@dataclasses.dataclass(frozen=True)
class Extensions:
    """What a user may put in place of ours, or begin with. All are plain objects."""

    environment: EnvironmentFactory | None = None
    network: Network | None = None
    exploration: ExplorationRule | None = None
    start_from: Agent | None = None
    """Begin with this agent's parameters."""
    demonstrations: Sequence[Episode] = ()
    """Episodes that are in the replay from the start."""


@dataclasses.dataclass
class TrainingState:
    """Everything that changes as training goes on: what a checkpoint holds."""

    learner: LearnerState
    replay: Replay
    aim: Aim
    experience: Experience
    iteration: int = 0
    env_steps: int = 0
    evaluated_at: int = 0
    """The last multiple of evaluation_interval that an evaluation was for."""
    last_evaluation: int = 0
    """The iteration that it came after."""
    best_return: float | None = None
    """The best mean return of an evaluation so far."""
    seconds: float = 0.0
    """What iterations and evaluations have taken so far, by the clock on the wall."""


class Training:
    """Upside-down RL on one task. All randomness follows from (seed, purpose, iteration, episode)."""

    tell: Callable[[str, int, int], None] = staticmethod(lambda what, done, total: None)
    """Is told how far a long phase is: ("updates", 30, 500)."""

    def __init__(
        self,
        config: Config,
        extensions: Extensions | None = None,
        task: str | None = None,
        n_workers: int = 1,
        device: Literal["auto", "cpu", "gpu"] = "auto",
    ) -> None:
        self.extensions = extensions or Extensions()
        own_environment = self.extensions.environment
        engine = choose_engine(config.engine, config.env_id, own_environment)
        self.config, self.task = dataclasses.replace(config, engine=engine), task
        environments = make_environments(self.config, own_environment)
        self.observations, self.actions = environments.observations, environments.actions
        check_episodes(self.extensions.demonstrations, self.observations, self.actions)
        workers = Workers(n_workers) if n_workers > 1 else None  # they import what they need while networks are made
        key = jax.random.key(int(generator(config.seed, Purpose.INITIAL_WEIGHTS).integers(2**32)))
        behavior = make_behavior(self.observations, self.actions, config, key, self.extensions.network)
        self.distribution = behavior.distribution
        n_parameters = sum(leaf.size for leaf in parameters_of(behavior))
        mesh = choose_mesh(device, isinstance(behavior.network, Conv), config.batch_size, n_parameters)
        self.learner = Learner(_begin_with(behavior, self.extensions.start_from), config.learning_rate, mesh)
        self.collector: Collector = Rollouts(environments, behavior, SingleDeviceSharding(mesh.devices[0]))
        if workers is not None:
            environments.close()
            self.collector = workers.equip(self.config, behavior, own_environment)

    def start(self) -> tuple[TrainingState, Metrics]:
        """Warm-up episodes of random actions, and demonstrations, in an empty replay (lines 1 and 2).

        The metrics say what random actions obtain: what learning is compared with.
        """
        replay = Replay(self.config.replay_size, self.config.ties)
        replay.add(self.extensions.demonstrations)
        n = self.config.n_warm_up_episodes
        nothing = Command(np.zeros(n), np.zeros(n))  # random actions obey no command
        episodes = self._collect("warm_up", self.learner.initial_state(), nothing, n, Purpose.WARM_UP, 0)
        replay.add(episodes)
        steps = sum(map(len, episodes)) if self.config.count_warm_up else 0
        experience = Experience().with_episodes(replay.returns, replay.lengths, steps)
        aim = aim_at_best(replay, self.config)
        state = TrainingState(self.learner.initial_state(), replay, aim, experience, env_steps=steps)
        returns = np.array([episode.total_return for episode in episodes])
        return state, {
            "kind": "warm_up",
            "env_steps": steps,
            "warm_up/return_mean": float(returns.mean()),
            "warm_up/return_std": float(returns.std()),
            "warm_up/length_mean": float(np.mean([len(episode) for episode in episodes])),
            "warm_up/episodes": n,
        }

    def iterate(self, state: TrainingState) -> Metrics:
        """Improve the behavior function, then explore with it (lines 4 to 6)."""
        state.iteration += 1
        began = time.perf_counter()
        losses = self._improve(state)
        improved = time.perf_counter()
        state.aim = aim_at_best(state.replay, self.config)
        commands = self._exploratory_commands(state)
        n = self.config.n_episodes_per_iter
        episodes = self._collect("sample", state.learner, commands, n, Purpose.EXPLORATION, state.iteration)
        returns = np.array([episode.total_return for episode in episodes])
        lengths = np.array([len(episode) for episode in episodes])
        state.replay.add(episodes)
        state.env_steps += int(lengths.sum())
        state.experience = state.experience.with_episodes(returns, lengths, state.env_steps)
        explored = time.perf_counter()
        state.seconds += explored - began
        return {
            "kind": "iteration",
            "iteration": state.iteration,
            "env_steps": state.env_steps,
            "train/loss": float(losses.mean()),
            "explore/desired_return_mean": float(np.mean(commands.desired_return)),
            "explore/desired_horizon_mean": float(np.mean(commands.desired_horizon)),
            "explore/return_mean": float(returns.mean()),
            "explore/return_max": float(returns.max()),
            "explore/length_mean": float(lengths.mean()),
            "replay/episodes": len(state.replay),
            "replay/return_min": float(state.replay.returns[0]),
            "replay/return_mean": float(state.replay.returns.mean()),
            "replay/return_max": float(state.replay.returns[-1]),
            "time/improve": improved - began,
            "time/explore": explored - improved,
            "time/total": state.seconds,
        }

    def is_evaluation_due(self, state: TrainingState) -> bool:
        """The first iteration past each multiple of the interval ends with an evaluation."""
        interval = self.config.evaluation_interval
        return interval > 0 and state.env_steps // interval * interval > state.evaluated_at

    def evaluate(self, state: TrainingState) -> Metrics:
        """Obey the evaluation command in episodes of their own (line 7); nothing of training is touched."""
        began = time.perf_counter()
        config, command = self.config, state.aim.evaluation_command()
        batch = evaluation_batch(command, config, self.actions.is_discrete, config.seed, state.iteration)
        evaluation = evaluate(self.collector, parameters_of(self._behavior(state)), batch)
        interval = config.evaluation_interval
        state.evaluated_at = state.env_steps // interval * interval if interval else 0
        state.last_evaluation = state.iteration
        summary = {f"eval/{name}": value for name, value in evaluation.summary().items()}
        seconds = time.perf_counter() - began
        state.seconds += seconds
        return {
            "kind": "evaluation",
            "iteration": state.iteration,
            "env_steps": state.env_steps,
            "eval/at": state.evaluated_at,
            **summary,
            "time/evaluate": seconds,
            "time/total": state.seconds,
        }

    def agent(self, state: TrainingState) -> Agent:
        """The agent as it now is. Its parameters are a copy: the next training phase uses up the state's."""
        behavior = jax.tree.map(
            lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, self._behavior(state)
        )
        spaces = self.observations, self.actions
        return Agent(behavior.bounded(), self.config, *spaces, state.aim, state.experience, self.task)

    def close(self) -> None:
        self.collector.close()

    def _behavior(self, state: TrainingState) -> BehaviorFunction:
        return self.learner.behavior(state.learner)

    def _improve(self, state: TrainingState) -> np.ndarray:
        rng = generator(self.config.seed, Purpose.SEGMENTS, state.iteration)
        losses = np.empty(0, np.float32)
        for examples in sample_examples(state.replay, self.config, rng):
            state.learner, some = self.learner.train(state.learner, examples)
            losses = np.concatenate([losses, some])
            self.tell("updates", len(losses), self.config.n_updates_per_iter)
        finite = np.isfinite(losses)
        # The last update comes after the last loss: what it made is looked at too.
        if not (finite.all() and all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.learner.parameters))):
            update = len(losses) - 1 if finite.all() else int(np.flatnonzero(~finite)[0])
            raise TrainingError(
                f"The loss is not finite at update {update} of iteration {state.iteration}: "
                "try a lower learning_rate, return_scale or horizon_scale."
            )
        return losses

    def _exploratory_commands(self, state: TrainingState) -> Command:
        n = self.config.n_episodes_per_iter
        rng = generator(self.config.seed, Purpose.COMMANDS, state.iteration)
        rule = self.extensions.exploration
        if rule is None:
            return state.aim.exploratory_commands(n, rng)
        return rule(state.replay, n, rng).checked()

    def _collect(
        self,
        how: Literal["warm_up", "sample"],
        learner: LearnerState,
        command: Command,
        n: int,
        purpose: Purpose,
        iteration: int,
    ) -> list[Episode]:
        batch = Batch(how, command, self.config.seed, purpose, iteration, range(n), "training")
        return self.collector.collect(parameters_of(self.learner.behavior(learner)), batch)


def _begin_with(behavior: BehaviorFunction, agent: Agent | None) -> BehaviorFunction:
    """`behavior` with the parameters of an agent, whose network must be alike."""
    if agent is None:
        return behavior
    ours, rest = eqx.partition(behavior.network, eqx.is_array)
    theirs = eqx.filter(agent.behavior.network, eqx.is_array)
    if _shapes(ours) != _shapes(theirs):
        raise UserError("The agent to start from has another network: give this run the same one.")
    leaves = [jax.numpy.array(leaf) for leaf in jax.tree.leaves(theirs)]
    network = eqx.combine(jax.tree.unflatten(jax.tree.structure(ours), leaves), rest)
    return BehaviorFunction(behavior.command_input, network, behavior.distribution)


def _shapes(tree: Any) -> list[Any]:
    return [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]

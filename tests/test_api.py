"""`udrl.train` from Python: settings by name, and the extension points, each an example."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from probes import CountedReward, RewardIsAction
from test_agent import TINY

import udrl
from udrl import Agent, Command, Replay, Report, UserError


class Linear(eqx.Module):
    """A network of one's own: one linear layer over everything."""

    weight: Float[Array, "y x"]

    def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " 2"]) -> Float[Array, " y"]:
        return self.weight @ jnp.concatenate([observation.ravel(), command])


def test_a_network_of_ones_own(tmp_path: Path) -> None:
    network = Linear(jnp.zeros((2, 1 + 2)))
    settings = TINY | {"learning_rate": 0.1, "n_updates_per_iter": 50, "n_warm_up_episodes": 50, "return_scale": 1.0}
    agent = udrl.train(environment=RewardIsAction, network=network, **settings)
    returns = [agent.evaluate(Command(desired, 1), 50, environment=RewardIsAction).returns.mean() for desired in (0, 1)]
    assert returns[0] < 0.1
    assert returns[1] > 0.9
    agent.save(tmp_path / "agent.safetensors")
    with pytest.raises(UserError, match="network"):
        Agent.load(tmp_path / "agent.safetensors")
    loaded = Agent.load(tmp_path / "agent.safetensors", network=network)
    assert jnp.array_equal(loaded.behavior.network.weight, agent.behavior.network.weight)  # type: ignore[attr-defined]


def test_a_rule_for_exploratory_commands_of_ones_own() -> None:
    asked: list[np.ndarray] = []

    def over_the_whole_range(replay: Replay, n: int, rng: np.random.Generator) -> Command:
        desired_return = rng.uniform(replay.returns[0], replay.returns[-1], n)
        asked.append(desired_return)
        return Command(desired_return, np.interp(desired_return, replay.returns, replay.lengths))

    udrl.train(environment=CountedReward, exploration=over_the_whole_range, **TINY)
    assert all(returns.shape == (2,) for returns in asked)
    assert max(map(np.max, asked)) > min(map(np.min, asked)) + 1


def test_a_function_called_after_every_iteration_sees_and_stops() -> None:
    seen: list[Report] = []

    def stop_after_three(report: Report) -> bool:
        seen.append(report)
        return report.iteration < 3

    udrl.train("cartpole", after_iteration=stop_after_three, **{**TINY, "env_steps": 10**6})
    assert [report.iteration for report in seen] == [1, 2, 3]
    assert seen[-1].metrics["train/loss"] > 0
    assert isinstance(seen[-1].agent(), Agent)


def test_an_agent_handed_out_during_training_does_not_change_afterwards() -> None:
    kept: list[tuple[Agent, Any]] = []

    def keep(report: Report) -> None:
        agent = report.agent()
        kept.append((agent, jax.tree.map(np.array, eqx.filter(agent.behavior, eqx.is_array))))

    udrl.train("cartpole", after_iteration=keep, **TINY)
    for agent, before in kept:
        assert eqx.tree_equal(jax.tree.map(np.array, eqx.filter(agent.behavior, eqx.is_array)), before)


def test_training_starts_from_an_agent() -> None:
    first = udrl.train("cartpole", **TINY)
    begun: list[Agent] = []
    settings = {**TINY, "learning_rate": 1e-12, "seed": 7}
    udrl.train("cartpole", start_from=first, after_iteration=lambda report: begun.append(report.agent()), **settings)
    weights = [jax.tree.leaves(agent.behavior.network) for agent in (first, begun[0])]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    with pytest.raises(UserError, match="another network"):
        udrl.train("cartpole", start_from=first, **{**TINY, "hidden_sizes": (9,)})


def test_training_starts_from_an_agent_with_a_network_of_ones_own() -> None:
    network = eqx.nn.Sequential([eqx.nn.Lambda(jnp.tanh)])  # a network with leaves that are no arrays

    class Own(eqx.Module):
        weight: Float[Array, "y x"]
        squash: eqx.nn.Sequential

        def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " 2"]) -> Float[Array, " y"]:
            return self.weight @ self.squash(jnp.concatenate([observation.ravel(), command]))

    own = Own(jnp.ones((2, 6)), network)
    first = udrl.train("cartpole", network=own, **TINY)
    udrl.train("cartpole", network=own, start_from=first, **TINY)


def test_another_network_of_ones_own_makes_another_run(tmp_path: Path) -> None:
    settings = {**TINY, "out": tmp_path / "run"}
    udrl.train("cartpole", network=Linear(jnp.zeros((2, 6))), **settings)
    with pytest.raises(UserError, match="network"):
        udrl.train("cartpole", network=Linear(jnp.ones((2, 6))), **settings)


def test_demonstrations_are_in_the_replay_from_the_start(tmp_path: Path) -> None:
    environment = gym.make("CartPole-v1")
    balance = lambda o: int(o[2] + o[3] > 0)  # noqa: E731
    episodes = [udrl.record_episode(environment, balance, seed) for seed in range(4)]
    udrl.save_episodes(tmp_path / "episodes.safetensors", episodes)
    seen: list[Report] = []
    settings = {**TINY, "last_few": 4, "env_steps": 600}
    udrl.train("cartpole", demonstrations=tmp_path / "episodes.safetensors", after_iteration=seen.append, **settings)
    mean = np.mean([len(episode) for episode in episodes])
    assert mean > 100
    assert seen[0].metrics["replay/return_max"] == max(len(episode) for episode in episodes)
    assert seen[0].metrics["explore/desired_return_mean"] >= np.trunc(mean)


def test_demonstrations_of_another_environment_are_refused() -> None:
    episode = udrl.record_episode(CountedReward(), lambda _: 1)
    with pytest.raises(UserError, match="does not fit"):
        udrl.train("cartpole", demonstrations=[episode], **TINY)


def test_equal_seeds_give_equal_agents_and_other_seeds_others() -> None:
    weights = [jax.tree.leaves(udrl.train("cartpole", seed=seed, **TINY).behavior.network) for seed in (1, 1, 2)]
    same, other = (all(np.array_equal(a, b) for a, b in zip(weights[0], weights[i], strict=True)) for i in (1, 2))
    assert same
    assert not other


def test_evaluation_does_not_disturb_training() -> None:
    weights = [
        jax.tree.leaves(udrl.train("cartpole", **{**TINY, "evaluation_interval": interval}).behavior.network)
        for interval in (0, 50)
    ]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_evaluations_follow_each_multiple_of_the_interval(tmp_path: Path) -> None:
    udrl.train("cartpole", out=tmp_path / "run", **{**TINY, "evaluation_interval": 100, "env_steps": 350})
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    iterations = [line for line in lines if line["kind"] == "iteration"]
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    assert [line["eval/at"] for line in evaluations] == [100, 200, 300, 300]
    for line in evaluations[:3]:
        before = [other["env_steps"] for other in iterations if other["env_steps"] < line["eval/at"]]
        first_past = min(other["env_steps"] for other in iterations if other["env_steps"] >= line["eval/at"])
        assert line["env_steps"] == first_past > max(before, default=0)


def test_a_run_stops_when_solved() -> None:
    reports: list[Report] = []
    settings = {**TINY, "evaluation_interval": 50, "env_steps": 10**6, "solved_return": 1.0, "stop_when_solved": True}
    udrl.train("cartpole", after_iteration=reports.append, **settings)
    assert len(reports) < 10


def test_sparse_cartpole_gives_its_return_at_the_end() -> None:
    seen: list[Report] = []
    udrl.train("cartpole", sparse=True, after_iteration=seen.append, **TINY)
    assert all(report.metrics["explore/return_mean"] == report.metrics["explore/length_mean"] for report in seen)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"task": "cartpol"}, "Did you mean 'cartpole'"),
        ({"task": "cartpole", "learning_rat": 1.0}, "Did you mean 'learning_rate'"),
        ({"task": "cartpole", "env_id": "Acrobot-v1"}, "not both"),
        ({}, "Name a task"),
        ({"task": "cartpole", "batch_size": 0}, "at least 1"),
        ({"task": "cartpole", "learning_rate": float("nan")}, "positive finite"),
        ({"task": "cartpole", "stop_when_solved": True, "solved_return": None}, "threshold"),
        ({"task": "cartpole", "tensorboard": True}, "run folder"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        udrl.train(**{"quiet": True, **settings})


def test_a_loss_that_is_not_finite_stops_the_run() -> None:
    class Exploding(Linear):
        def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " 2"]) -> Float[Array, " y"]:
            return super().__call__(observation, command) * jnp.inf

    with pytest.raises(udrl.TrainingError, match="loss is not finite at update 0 of iteration 1"):
        udrl.train("cartpole", network=Exploding(jnp.ones((2, 6))), **TINY)

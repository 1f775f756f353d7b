"""An agent in its file and in a user's own loop."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from probes import ContinuousAction, CountedReward
from safetensors import safe_open
from safetensors.numpy import save_file

import udrl
from udrl import Agent, Command, UserError

TINY: dict[str, Any] = {
    "hidden_sizes": (8,),
    "batch_size": 8,
    "n_updates_per_iter": 2,
    "n_episodes_per_iter": 2,
    "n_warm_up_episodes": 4,
    "evaluation_interval": 0,
    "n_evaluation_episodes": 2,
    "env_steps": 200,
    "quiet": True,
}


@pytest.fixture(scope="module")
def agent() -> Agent:
    return udrl.train("cartpole", **TINY)


def copy_with(path: Path, target: Path, **changes: Any) -> Path:
    """The same agent file with other metadata."""
    with safe_open(path, "numpy") as file:
        document = json.loads(file.metadata()["udrl"]) | changes
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(arrays, target, {"udrl": json.dumps(document)})
    return target


def test_a_saved_agent_acts_like_the_one_in_memory(agent: Agent, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent.safetensors")
    loaded = Agent.load(tmp_path / "agent.safetensors")
    observations = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    command = Command(30.0, 30.0)
    np.testing.assert_array_equal(agent.act(observations, command, rng=1), loaded.act(observations, command, rng=1))
    assert (loaded.config, loaded.aim, loaded.experience, loaded.task) == (
        agent.config,
        agent.aim,
        agent.experience,
        "cartpole",
    )


def test_one_observation_and_a_batch_get_the_same_actions(agent: Agent) -> None:
    observations = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    commands = Command(np.linspace(10, 200, 20), np.linspace(10, 200, 20))
    batch = agent.act(observations, commands, deterministic=True)
    single = [agent.act(o, commands[i], deterministic=True) for i, o in enumerate(observations)]
    assert batch.tolist() == single


def test_an_action_is_the_environments_own(agent: Agent) -> None:
    environment = gym.make("CartPole-v1")
    observation, _ = environment.reset(seed=0)
    assert agent.act(observation, Command(100, 100)) in environment.action_space


def test_following_carries_the_command_through_an_episode(agent: Agent) -> None:
    follower = agent.follow(Command(100.0, 50.0), seed=3)
    rewards = [1.0, 0.0, -2.5]
    for n, reward in enumerate(rewards, 1):
        assert follower.act(np.zeros(4, np.float32)) in (0, 1)
        follower.receive(reward)
        assert follower.command == Command(100.0 - sum(rewards[:n]), 50.0 - n)
        assert follower.obtained == sum(rewards[:n])


def test_the_readme_loop_obtains_what_evaluation_reports(agent: Agent) -> None:
    environment = gym.make("CartPole-v1")
    follower = agent.follow(Command(60, 60), seed=0)
    observation, _ = environment.reset(seed=1)
    ended = False
    while not ended:
        action = follower.act(observation)
        observation, reward, terminated, truncated, _ = environment.step(action)
        follower.receive(float(reward))
        ended = terminated or truncated
    assert follower.obtained == 60 - follower.command.desired_return


def test_the_evaluation_command_is_what_the_best_episodes_obtained(agent: Agent) -> None:
    assert agent.evaluation_command == Command(np.trunc(agent.aim.mean_return), np.trunc(agent.aim.mean_return))
    low, high = agent.exploratory_commands
    assert (low, high) == (agent.aim.mean_return, agent.aim.mean_return + agent.aim.std_return)


def test_evaluation_repeats_by_seed(agent: Agent) -> None:
    first, again, other = (agent.evaluate(Command(30, 30), 20, seed).returns.tolist() for seed in (1, 1, 2))
    assert first == again != other


class DictObservations(gym.Env[Any, Any]):
    """Three steps; observations of two kinds, actions of one."""

    observation_space = Dict({"place": Box(-1.0, 1.0, (2,), np.float32), "room": Discrete(3)})
    action_space = gym.spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.t += 1
        return self.observation_space.sample(), float(action[1]), self.t == 3, False, {}


def test_dict_observations_and_several_actions_work_from_training_to_a_loaded_agent(tmp_path: Path) -> None:
    udrl.train(environment=DictObservations, out=tmp_path / "run", **{**TINY, "env_steps": 30})
    loaded = Agent.load(tmp_path / "run")
    observations = [DictObservations.observation_space.sample() for _ in range(3)]
    assert loaded.act(observations[0], Command(3, 3)) in DictObservations.action_space
    assert loaded.act(observations, Command(3, 3)).shape == (3, 2)


def test_continuous_actions_are_the_mode_unless_asked_for_samples(tmp_path: Path) -> None:
    agent = udrl.train(environment=ContinuousAction, **{**TINY, "env_steps": 20})
    observation, command = np.full(1, 0.5, np.float32), Command(1, 1)
    usual = [agent.act(observation, command, rng=seed).item() for seed in range(3)]
    samples = [agent.act(observation, command, deterministic=False, rng=seed).item() for seed in range(3)]
    assert len(set(usual)) == 1
    assert len(set(samples)) == 3


@pytest.mark.parametrize(
    ("observation", "desired_return", "complaint"),
    [
        (np.zeros(5, np.float32), 1.0, "does not fit"),
        (np.full(4, np.nan, np.float32), 1.0, "not finite"),
        (np.zeros(4, np.float32), float("nan"), "finite number"),
        (np.zeros(4, np.float32), 1e300, "finite number"),
    ],
)
def test_what_no_agent_can_answer_is_refused(
    agent: Agent, observation: np.ndarray, desired_return: float, complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        agent.act(observation, Command(desired_return, 10.0))


def test_an_agent_is_not_run_in_an_environment_with_other_spaces(agent: Agent) -> None:
    with pytest.raises(UserError, match="not those the agent was trained on"):
        agent.evaluate(episodes=1, environment=CountedReward)


def test_a_file_never_decides_what_is_imported(agent: Agent, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent.safetensors")
    config = agent.describe()["config"] | {"env_id": "antigravity:fly"}
    hostile = copy_with(tmp_path / "agent.safetensors", tmp_path / "hostile.safetensors", config=config)
    with pytest.raises(UserError, match="give the environment yourself"):
        Agent.load(hostile).evaluate(episodes=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"hidden_sizes": [10**9, 10**9]}},
        {"config": {"hidden_sizes": "many"}},
        {"config": {"no_such_setting": 1}},
        {"config": None},
        {"aim": {}},
        {"experience": [1, 2]},
        {"observation_space": {"kind": "Box", "shape": [10**9, 10**9], "low": [0], "high": [1], "dtype": "float32"}},
        {"observation_space": {"kind": "__import__('os').system('false')"}},
        {"action_space": {"kind": "Discrete", "n": -3, "start": 0}},
        {"format_version": 99},
        {"kind": "checkpoint"},
        {"network": "TheirOwn"},
    ],
)
def test_hostile_metadata_is_refused_with_a_sentence(agent: Agent, tmp_path: Path, changes: dict[str, Any]) -> None:
    agent.save(tmp_path / "agent.safetensors")
    if isinstance(changes.get("config"), dict):
        changes = {"config": agent.describe()["config"] | changes["config"]}
    hostile = copy_with(tmp_path / "agent.safetensors", tmp_path / "hostile.safetensors", **changes)
    with pytest.raises(UserError):
        Agent.load(hostile)


@pytest.mark.parametrize("n_bytes", [0, 4, 100, 5_000])
def test_a_truncated_file_is_refused(agent: Agent, tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "agent.safetensors"
    agent.save(path)
    path.write_bytes(path.read_bytes()[: min(n_bytes, path.stat().st_size - 1)])
    with pytest.raises(UserError, match="damaged"):
        Agent.load(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    path.write_bytes(b"\x80\x04\x95 a pickle, say" * 100)
    with pytest.raises(UserError, match="damaged or not"):
        Agent.load(path)


def test_a_folder_without_an_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no agent"):
        Agent.load(tmp_path)

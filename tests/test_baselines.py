"""The baselines: what the library does not have, how they act, what their networks are, their values."""

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from probes import ContinuousAction, CountedReward, Probe

import udrl
from udrl.baselines import BASELINES, A2c, Ddpg, Dqn, Ppo, Trpo, defaults
from udrl.run_folder import read_metrics
from udrl.tasks import TASKS

pytest.importorskip("sb3_contrib")
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger

from udrl.baselines.algorithms import make_algorithm
from udrl.baselines.copies import make_copies
from udrl.baselines.evaluation import acting, invert
from udrl.baselines.networks import Convolutions

TINY: dict[str, dict[str, Any]] = {
    "dqn": {"batch_size": 4, "buffer_size": 100, "train_freq": 7, "learning_starts": 4},
    "a2c": {"n_envs": 2, "n_steps": 5},
    "ppo": {"n_envs": 1, "n_steps": 12, "n_minibatches": 2, "n_epochs": 2},
    "trpo": {"n_envs": 2, "n_steps": 8, "n_critic_updates": 2},
    "ddpg": {"batch_size": 4, "buffer_size": 100, "learning_starts": 4, "ou_sigma": 0.5},
}


def train(algorithm: str, out: Path | None = None, environment: Any = None, **settings: Any) -> Any:
    values = {"hidden_sizes": (4,), "evaluation_interval": 20, "n_evaluation_episodes": 3, "env_steps": 60}
    environment = environment or (ContinuousAction if algorithm == "ddpg" else CountedReward)
    values |= TINY[algorithm] | {"quiet": True} | settings
    return udrl.train(algorithm=algorithm, environment=environment, out=out, **values)


def algorithm_for(settings: Any, environment: Any) -> Any:
    algorithm = make_algorithm(settings, make_copies(settings, environment, []), "cpu")
    algorithm.set_logger(Logger(None, []))
    return algorithm


def evaluations(out: Path) -> list[dict[str, Any]]:
    return [line for line in read_metrics(out) if line["kind"] == "evaluation"]


# What the library does not have.


def loss_of_one_update(algorithm: Any, done: bool) -> float:
    """Learned values are (1, 2) everywhere and the target network's (10, 3); one transition, action 0, reward 0.5."""
    for network, values in ((algorithm.q_net, (1.0, 2.0)), (algorithm.q_net_target, (10.0, 3.0))):
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)
        network.q_net[-1].bias.data = torch.tensor(values)
    seen = np.zeros((1, 1), np.float32)
    algorithm.replay_buffer.add(seen, seen, np.array([[0]]), np.array([0.5]), np.array([done]), [{}])
    algorithm.train(gradient_steps=1, batch_size=2)
    return algorithm.logger.name_to_value["train/loss"]


def test_double_dqn_values_the_learned_networks_choice_by_the_target_network() -> None:
    settings = Dqn(gamma=0.9, hidden_sizes=(4,), buffer_size=10)
    ours = algorithm_for(settings, CountedReward)
    plain = DQN("MlpPolicy", make_copies(settings, CountedReward, []), gamma=0.9, buffer_size=10)
    plain.set_logger(Logger(None, []))
    # The learned network chooses action 1, which the target network values at 3: 0.5 + 0.9 * 3 = 3.2.
    # Huber's loss of a difference d above 1 is d - 0.5.
    assert loss_of_one_update(ours, done=False) == pytest.approx(abs(1.0 - 3.2) - 0.5)
    # Plain DQN takes the largest, 10: 0.5 + 0.9 * 10 = 9.5.
    assert loss_of_one_update(plain, done=False) == pytest.approx(abs(1.0 - 9.5) - 0.5)


def test_double_dqn_expects_nothing_after_the_end() -> None:
    ours = algorithm_for(Dqn(gamma=0.9, hidden_sizes=(4,), buffer_size=10), CountedReward)
    assert loss_of_one_update(ours, done=True) == pytest.approx(0.5 * (1.0 - 0.5) ** 2)
    assert isinstance(ours.q_net_target, torch.nn.Module)  # and what computed the target is put back


def test_ddpgs_networks_learn_at_two_rates() -> None:
    algorithm = train("ddpg", actor_learning_rate=0.003, critic_learning_rate=0.02)
    rates = [algorithm.actor.optimizer.param_groups[0]["lr"], algorithm.critic.optimizer.param_groups[0]["lr"]]
    assert rates == [0.003, 0.02]
    assert algorithm.actor.optimizer.state  # it has learned


def test_ddpg_acts_at_random_as_often_as_asked() -> None:
    def actions(probability: float) -> np.ndarray:
        settings = Ddpg(hidden_sizes=(4,), buffer_size=10, random_exploration=probability, ou_sigma=0.0)
        algorithm = algorithm_for(settings, ContinuousAction)
        algorithm._last_obs = np.zeros((1, 1), np.float32)
        algorithm.num_timesteps = 100
        return np.array([algorithm._sample_action(0, algorithm.action_noise)[1] for _ in range(2000)])

    policys = actions(0.0)
    assert np.ptp(policys) == 0.0
    assert actions(0.3).std() > 0.0
    assert np.mean(actions(0.3) != policys) == pytest.approx(0.3, abs=0.04)
    assert actions(1.0).std() == pytest.approx(np.sqrt(1 / 3), abs=0.03)  # uniform in [-1, 1]


def test_a2cs_rmsprop_decays_as_asked() -> None:
    algorithm = algorithm_for(A2c(rms_prop_decay=0.98, hidden_sizes=(4,)), CountedReward)
    assert algorithm.policy.optimizer.defaults["alpha"] == 0.98
    assert isinstance(algorithm.policy.optimizer, torch.optim.RMSprop)


def test_a_linear_rate_falls_to_zero_over_the_budget() -> None:
    algorithm = algorithm_for(A2c(learning_rate=0.4, learning_rate_schedule="linear", hidden_sizes=(4,)), CountedReward)
    assert [algorithm.lr_schedule(left) for left in (1.0, 0.5, 0.0)] == pytest.approx([0.4, 0.2, 0.0])


def test_ppo_cuts_an_updates_steps_into_minibatches() -> None:
    settings = Ppo(n_envs=2, n_steps=32, n_minibatches=4, hidden_sizes=(4,), clip_range=0.3)
    algorithm = algorithm_for(settings, CountedReward)
    assert (algorithm.batch_size, algorithm.clip_range(1.0)) == (16, 0.3)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_networks_are_as_asked(activation: Any) -> None:
    for settings in (Dqn, A2c, Ppo, Trpo):
        algorithm = algorithm_for(settings(hidden_sizes=(3, 5), activation=activation), CountedReward)
        layers = [layer for layer in algorithm.policy.modules() if isinstance(layer, torch.nn.Linear)]
        assert {(3, 1), (5, 3)} <= {tuple(layer.weight.shape) for layer in layers}
        kinds = {type(layer) for layer in algorithm.policy.modules()}
        assert (torch.nn.ReLU in kinds, torch.nn.Tanh in kinds) == (activation == "relu", activation == "tanh")


# How they act in evaluation.


def test_observations_are_normalized_in_evaluation_as_in_training() -> None:
    algorithm = train("a2c", normalize_observations=True, normalize_returns=True)
    copies = algorithm.get_vec_normalize_env()
    seen = np.array([[0.2], [0.9]], np.float32)
    standard = (seen - copies.obs_rms.mean) / np.sqrt(copies.obs_rms.var + copies.epsilon)
    expected, _ = algorithm.policy.predict(standard.astype(np.float32), deterministic=True)
    got = acting(algorithm, "mode")(seen, np.zeros((2, 2)), np.zeros((2, 1)))
    assert got.tolist() == expected[:, None].tolist()
    assert copies.norm_reward
    assert copies.gamma == 0.99


def test_noise_is_inverted_to_choices_as_often_as_they_are_probable() -> None:
    probabilities = np.array([[0.2, 0.0, 0.5, 0.3]] * 4)
    assert invert(probabilities, np.array([0.1, 0.2, 0.69, 0.999])).tolist() == [0, 2, 2, 3]


def test_discrete_actions_are_sampled_and_of_continuous_ones_the_mode_is_taken() -> None:
    sampled = {udrl_style(Ppo(hidden_sizes=(4,)), CountedReward, noise) for noise in (0.01, 0.99)}
    assert len(sampled) == 2
    modes = {udrl_style(Ppo(hidden_sizes=(4,)), ContinuousAction, noise) for noise in (-3.0, 3.0)}
    assert len(modes) == 1
    for settings, environment in ((Dqn(hidden_sizes=(4,)), CountedReward), (Ddpg(), ContinuousAction)):
        assert len({udrl_style(settings, environment, noise) for noise in (0.01, 0.99)}) == 1


def udrl_style(settings: Any, environment: Any, noise: float) -> float:
    """The action in evaluation, given that noise."""
    from udrl.baselines.evaluation import how_to_act

    how = how_to_act(settings, environment is CountedReward)
    act = acting(algorithm_for(settings, environment), how)
    return act(np.zeros((1, 1), np.float32), np.zeros((1, 2)), np.full((1, 1), noise)).item()


class Pair(Probe):
    """Two choices at a time."""

    n_steps = 4
    action_space = MultiDiscrete([2, 3])

    def reward(self, action: Any) -> float:
        assert 0 <= action[0] < 2
        assert 0 <= action[1] < 3
        return float(action[0] * 3 + action[1])


@pytest.mark.parametrize("algorithm", ["a2c", "ppo", "trpo"])
def test_several_choices_and_sampled_numbers_are_actions_too(algorithm: str, tmp_path: Path) -> None:
    train(algorithm, tmp_path / "pair", environment=Pair)
    train(algorithm, tmp_path / "numbers", environment=ContinuousAction, evaluation_actions="sample")
    assert evaluations(tmp_path / "numbers")[-1]["eval/return_std"] > 0


# Images.


class Picture(gym.Env[np.ndarray, Any]):
    """Byte images; lasts five steps."""

    observation_space = Box(0, 255, (16, 16), np.uint8)
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self.picture(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self.picture(), 1.0, self.t == 5, False, {}

    def picture(self) -> np.ndarray:
        return np.full((16, 16), 40 * self.t + 10, np.uint8)


@pytest.mark.parametrize("algorithm", ["dqn", "a2c"])
def test_images_go_through_the_papers_convolutions(algorithm: str) -> None:
    settings = {"frame_stack": 8, "conv_channels": (2, 3, 4, 5), "env_steps": 30}
    trained = train(algorithm, environment=Picture, **settings)
    extractors = [layer for layer in trained.policy.modules() if isinstance(layer, Convolutions)]
    assert extractors
    convolutions = [layer for layer in extractors[0].layers if isinstance(layer, torch.nn.Conv2d)]
    assert [(layer.in_channels, layer.out_channels) for layer in convolutions] == [(8, 2), (2, 3), (3, 4), (4, 5)]
    assert {(layer.kernel_size, layer.stride, layer.padding) for layer in convolutions} == {((3, 3), (2, 2), (1, 1))}
    assert extractors[0].features_dim == 5  # 16 x 16, halved four times
    seen = trained.env.reset()
    assert seen.shape[1:] == (8, 16, 16)
    assert (seen == 10).all()


def test_takecovers_network_is_the_papers() -> None:
    space = Box(0, 255, (8, 64, 64), np.uint8)
    network = Convolutions(space, (48, 96, 192, 384), torch.nn.ReLU)
    assert network(torch.zeros(2, 8, 64, 64)).shape == (2, 384 * 4 * 4)
    for algorithm in ("dqn", "a2c"):
        settings = defaults(algorithm, "takecover")
        assert (settings.conv_channels, settings.hidden_sizes) == ((48, 96, 192, 384), (256, 256))
        assert (settings.frame_stack, settings.max_episode_steps) == (8, 2100)


# Values.


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("algorithm", BASELINES)
def test_every_task_has_values_under_the_tasks_conditions(algorithm: str, task: str) -> None:
    settings, config = defaults(algorithm, task), TASKS[task].config
    for name in (field.name for field in dataclasses.fields(udrl.Config)):
        if name in {"env_id", "sparse", "max_episode_steps", "frame_stack", "n_evaluation_episodes"}:
            assert getattr(settings, name) == getattr(config, name)


def test_sparse_tasks_take_the_dense_values_but_for_a2cs_steps() -> None:
    dense, sparse = defaults("a2c", "lunarlander"), defaults("a2c", "lunarlander-sparse")
    assert sparse == dataclasses.replace(dense, sparse=True, n_steps=20)  # type: ignore[call-arg]
    for algorithm in ("ppo", "trpo", "ddpg"):
        for task in ("swimmer", "inverted-double-pendulum"):
            assert defaults(algorithm, f"{task}-sparse") == dataclasses.replace(defaults(algorithm, task), sparse=True)

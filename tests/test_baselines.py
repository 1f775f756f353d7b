"""The baselines: what the library does not have is right, and a run of theirs keeps to the protocol of UDRL's."""

import dataclasses
import json
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from probes import ContinuousAction, CountedReward, Probe

import udrl
from udrl import UserError
from udrl.baselines import BASELINES, A2c, Ddpg, Dqn, Ppo, Trpo, defaults
from udrl.errors import Interrupted, TrainingError
from udrl.run_folder import read_metrics, run_status
from udrl.tasks import TASKS

pytest.importorskip("sb3_contrib")
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger

from udrl.baselines.algorithms import make_algorithm
from udrl.baselines.copies import Ended, make_copies, make_environments
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


def without_times(out: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if "time/" not in name} for line in read_metrics(out)]


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


# The protocol.

# Updates come every 7, 10, 12, 16 and 1 steps: the first of them past 20, 40 and 60.
MOMENTS = {"dqn": [21, 42, 63], "a2c": [20, 40, 60], "ppo": [24, 48, 60], "trpo": [32, 48, 64], "ddpg": [20, 40, 60]}


@pytest.mark.parametrize("algorithm", BASELINES)
def test_evaluations_come_past_each_multiple_of_the_interval(algorithm: str, tmp_path: Path) -> None:
    train(algorithm, tmp_path / "run")
    found = evaluations(tmp_path / "run")
    assert [line["eval/at"] for line in found] == [20, 40, 60]
    assert [line["env_steps"] for line in found] == MOMENTS[algorithm]
    assert [line["eval/episodes"] for line in found] == [3, 3, 3]
    assert all(line["time/total"] >= line["time/evaluate"] > 0 for line in found)
    assert {"eval/return_mean", "eval/return_std", "eval/return_min", "eval/return_max", "eval/length_mean"} <= set(
        found[0]
    )
    assert "eval/desired_return" not in found[0]
    last = [line for line in read_metrics(tmp_path / "run") if line["kind"] == "iteration"][-1]
    assert last["env_steps"] == MOMENTS[algorithm][-1]
    assert "explore/return_mean" in last


def test_a_run_is_a_folder_like_udrls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("ppo", tmp_path / "run")
    assert {file.name for file in (tmp_path / "run").iterdir()} - {"lock"} == {
        "config.json", "metrics.jsonl", "status.json",
    }  # fmt: skip
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    wanted = {"algorithm": "ppo", "task": None, "seed": 1, "n_minibatches": 2, "env_steps": 60, "gamma": 0.99}
    assert {name: config[name] for name in wanted} == wanted
    status = run_status(tmp_path / "run")
    assert (status["status"], status["env_steps"], status["budget"]) == ("finished", 60, 60)
    from udrl.cli import main

    assert main(["runs", str(tmp_path)]) == 0
    assert "finished" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", BASELINES)
def test_the_same_seed_gives_the_same_run_and_another_seed_another(algorithm: str, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        np.random.random()  # noqa: NPY002 (whatever was drawn before)
        train(algorithm, tmp_path / name, seed=seed)
    assert without_times(tmp_path / "a") == without_times(tmp_path / "b")
    assert without_times(tmp_path / "a") != without_times(tmp_path / "c")


@pytest.mark.parametrize("algorithm", BASELINES)
def test_evaluation_does_not_disturb_training(algorithm: str) -> None:
    evaluated, not_evaluated = (train(algorithm, evaluation_interval=interval) for interval in (20, 0))
    for ours, theirs in zip(evaluated.policy.parameters(), not_evaluated.policy.parameters(), strict=True):
        assert torch.equal(ours, theirs)


class Recorder(CountedReward):
    """Keeps the environment seeds of its episodes."""

    seeds: list[int] = []  # noqa: RUF012

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        assert seed is not None
        self.seeds.append(seed)
        return super().reset(seed=seed)


@pytest.mark.parametrize(("wanted", "low", "high"), [("final", 1, 500_000), ("tuning", 500_000, 1_000_000)])
def test_environment_seeds_are_from_the_papers_ranges(wanted: str, low: int, high: int) -> None:
    Recorder.seeds.clear()
    train("a2c", environment=Recorder, evaluation_interval=0, n_evaluation_episodes=5, evaluation_seeds=wanted)
    training = [seed for seed in Recorder.seeds if 1_000_000 <= seed < 10_000_000]
    evaluation = [seed for seed in Recorder.seeds if low <= seed < high]
    assert len(training) + len(evaluation) == len(Recorder.seeds)
    assert len(set(evaluation)) == 5
    assert len(set(training)) == len(training) == 2 * (30 // 8 + 1)  # two copies, episodes of eight steps


def test_what_copies_see_is_what_udrl_sees() -> None:
    settings = A2c(env_id="probes:CountedReward", n_envs=2, sparse=True, max_episode_steps=5, frame_stack=3)
    ended: list[Ended] = []
    copies = make_copies(settings, None, ended)
    first = np.asarray(copies.reset())
    assert first.shape == (2, 3, 1)
    assert first.ravel().tolist() == pytest.approx([1 / 9] * 6)  # the first is repeated until there are three
    given = [copies.step(np.array([1, t % 2])) for t in range(6)]
    # Five steps in place of eight, and the sum of the rewards at the last of them.
    assert [rewards.tolist() for _, rewards, _, _ in given] == [[0.0, 0.0]] * 4 + [[5.0, 2.0], [0.0, 0.0]]
    assert [ends.tolist() for _, _, ends, _ in given] == [[False, False]] * 4 + [[True, True], [False, False]]
    assert all(info["TimeLimit.truncated"] for info in given[4][3])
    assert np.asarray(given[1][0])[0].ravel().tolist() == pytest.approx([1 / 9, 2 / 9, 3 / 9])
    assert ended == [(5.0, 5), (2.0, 5)]


def test_the_sparse_reward_reaches_what_is_learned(tmp_path: Path) -> None:
    algorithm = train("dqn", tmp_path / "run", sparse=True)
    buffer = algorithm.replay_buffer
    rewards, ends = buffer.rewards[: buffer.pos, 0], buffer.dones[: buffer.pos, 0]
    assert (rewards[ends == 0] == 0).all()
    assert rewards[ends == 1].max() > 1.0  # a sum, where each step earns at most one


def test_rewards_are_scaled_for_the_algorithm_alone() -> None:
    ended: list[Ended] = []
    copies = make_copies(Ddpg(env_id="probes:ContinuousAction", reward_scale=10.0), None, ended)
    copies.reset()
    _, rewards, _, _ = copies.step(np.array([[0.5]]))
    assert rewards.tolist() == [15.0]  # 0.5 of the way from 0 to 3, ten times
    assert ended == [(1.5, 1)]


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


# How they act in evaluation.


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


# Stopping, beginning again, refusing.


def test_a_finished_run_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("a2c", tmp_path / "run")
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    assert train("a2c", tmp_path / "run", quiet=False) is None
    assert "is finished, with 60 steps" in capsys.readouterr().out
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before
    with pytest.raises(UserError, match="env_steps is 60 there and 80 here"):
        train("a2c", tmp_path / "run", env_steps=80)


class Signals(CountedReward):
    """Is interrupted once, at its 33rd step: the 21st of the first evaluation."""

    steps = 0

    def reward(self, action: Any) -> float:
        Signals.steps += 1
        if Signals.steps == 33:
            signal.raise_signal(signal.SIGTERM)
        return super().reward(action)


def test_a_run_that_was_cut_begins_again_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Signals.steps = 0
    with pytest.raises(Interrupted, match="begins again from zero") as stopped:
        train("ppo", tmp_path / "cut", environment=Signals, evaluation_interval=8)
    assert stopped.value.exit_code == 128 + signal.SIGTERM
    assert run_status(tmp_path / "cut")["status"] == "stopped"
    assert len(evaluations(tmp_path / "cut")) == 1
    train("ppo", tmp_path / "cut", environment=Signals, evaluation_interval=8, quiet=False)
    assert "it begins again from zero" in capsys.readouterr().out
    train("ppo", tmp_path / "other", environment=Signals, evaluation_interval=8)
    assert without_times(tmp_path / "cut") == without_times(tmp_path / "other")


def test_a_solved_run_ends(tmp_path: Path) -> None:
    train("a2c", tmp_path / "run", stop_when_solved=True, solved_return=0.0)
    assert [line["eval/at"] for line in evaluations(tmp_path / "run")] == [20]
    assert run_status(tmp_path / "run")["status"] == "solved"


def test_weights_that_are_not_finite_end_the_run_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="try a lower learning rate"):
        train("a2c", tmp_path / "run", learning_rate=1e38, env_steps=1000)
    assert run_status(tmp_path / "run")["status"] == "failed"


@pytest.mark.parametrize(
    ("algorithm", "environment", "complaint"),
    [
        ("dqn", ContinuousAction, "dqn is for discrete.*are continuous: take one of udrl, a2c, ppo, trpo, ddpg"),
        ("ddpg", CountedReward, "ddpg is for continuous.*are discrete: take one of udrl, dqn, a2c, ppo, trpo"),
        ("dqn", Pair, "several discrete ones at a time: take one of udrl, a2c, ppo, trpo"),
    ],
)
def test_an_algorithm_that_cannot_act_here_is_refused(
    algorithm: str, environment: Any, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=complaint):
        train(algorithm, tmp_path / "run", environment=environment)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("algorithm", "settings", "complaint"),
    [
        ("ppo", {"n_steps": 4, "n_minibatches": 3}, "at most 2"),
        ("ppo", {"n_step": 4}, "Did you mean 'n_steps'"),
        ("ppo", {"gamma": 1.5}, "gamma must be at most 1"),
        ("ppo", {"learning_rate": -1.0}, "learning_rate must be finite"),
        ("dqn", {"batch_size": 0}, "batch_size must be at least 1"),
        ("dqn", {"gradient_steps": -2}, "gradient_steps must be at least -1"),
        ("dqn", {"evaluation_actions": "sample"}, "no actions to sample"),
        ("a2c", {"network": object()}, "network is for UDRL"),
        ("a2c", {"device": "gpu"}, "PyTorch finds no GPU"),
        ("a2c", {"tensorboard": True}, "go into the run folder"),
    ],
)
def test_settings_that_make_no_sense_are_refused(algorithm: str, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        train(algorithm, **settings)


def test_an_unknown_algorithm_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no algorithm 'pppo'. Did you mean 'ppo'"):
        udrl.train("cartpole", algorithm="pppo")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'udrl\[baselines\]'"):
        train("ppo")


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


def test_the_command_line_has_each_algorithms_own_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from udrl.cli import main

    monkeypatch.chdir(tmp_path)
    flags = ["--env-steps", "64", "--n-steps", "4", "--n-evaluation-episodes", "2", "--seed", "3"]
    assert main(["train", "cartpole", "--algorithm", "ppo", *flags]) == 0
    assert run_status(tmp_path / "runs" / "cartpole-ppo-seed3")["status"] == "finished"
    config = json.loads((tmp_path / "runs" / "cartpole-ppo-seed3" / "config.json").read_text())
    assert (config["algorithm"], config["task"], config["n_steps"], config["gamma"]) == ("ppo", "cartpole", 4, 0.98)
    assert main(["train", "cartpole", "--algorithm=a2c", "--n-minibatches", "3"]) == 2
    assert "n-minibatches" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "cartpole", "--algorithm", "dqn", "--help"])
    assert "Transitions that the replay holds" in capsys.readouterr().out


def test_environments_are_closed_and_made_by_gymnasium() -> None:
    environments = make_environments(defaults("ppo", "lunarlander"), None)
    first = environments.start([7])
    environments.close()
    assert first.tolist() == [gym.make("LunarLander-v3").reset(seed=7)[0].tolist()]

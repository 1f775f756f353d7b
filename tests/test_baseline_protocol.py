"""A baseline's run keeps to the protocol of UDRL's: seeds, evaluations, its folder, stopping and refusing."""

import json
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probes import ContinuousAction, CountedReward
from test_baselines import Pair, evaluations, train

import udrl
from udrl import UserError
from udrl.baselines import BASELINES, A2c, Ddpg, defaults
from udrl.errors import Interrupted, TrainingError
from udrl.run_folder import read_metrics, run_status

pytest.importorskip("sb3_contrib")
import torch

from udrl.baselines.copies import Ended, make_copies, make_environments


def without_times(out: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if "time/" not in name} for line in read_metrics(out)]


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

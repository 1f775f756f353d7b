"""A run's folder: what is in it, whose it is, and what happens when it is damaged."""

import json
import logging
from pathlib import Path

import pytest
from filelock import FileLock
from probes import RewardIsAction
from test_agent import TINY

import udrl
from udrl import TrainingError, UserError
from udrl.run_folder import find_runs, read_metrics, run_status


def train(out: Path, **settings: object) -> udrl.Agent:
    return udrl.train("cartpole", out=out, **{**TINY, "evaluation_interval": 100, **settings})  # type: ignore[arg-type]


def test_a_run_is_a_folder(tmp_path: Path) -> None:
    train(tmp_path / "run")
    names = {file.name for file in (tmp_path / "run").iterdir()}
    files = {"config.json", "metrics.jsonl", "checkpoint.safetensors", "replay", "status.json"}
    assert names - {"lock"} == files | {"agent.safetensors", "best_agent.safetensors"}
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["algorithm"], config["task"], config["hidden_sizes"]) == ("udrl", "cartpole", [8])


def test_another_configuration_is_refused_with_the_difference(tmp_path: Path) -> None:
    train(tmp_path / "run")
    with pytest.raises(UserError, match=r"learning_rate is 0\.001 there and 0\.5 here"):
        train(tmp_path / "run", learning_rate=0.5)
    with pytest.raises(UserError, match="seed is 1 there and 2 here"):
        train(tmp_path / "run", seed=2)


def test_budget_threads_checkpoints_and_logging_are_no_part_of_a_runs_identity(tmp_path: Path) -> None:
    train(tmp_path / "run")
    train(tmp_path / "run", env_steps=300, threads=2, checkpoint_seconds=1.0, tensorboard=True, solved_return=10.0)


def test_demonstrations_and_extensions_are_part_of_a_runs_identity(tmp_path: Path) -> None:
    settings = {**TINY, "env_steps": 10}
    udrl.train(environment=RewardIsAction, out=tmp_path / "run", **settings)
    episode = udrl.record_episode(RewardIsAction(), lambda _: 1)
    with pytest.raises(UserError, match="demonstrations"):
        udrl.train(environment=RewardIsAction, out=tmp_path / "run", demonstrations=[episode], **settings)


def test_a_refused_run_does_not_keep_the_folder(tmp_path: Path) -> None:
    train(tmp_path / "run")
    with pytest.raises(UserError) as refused:
        train(tmp_path / "run", learning_rate=0.5)
    assert refused is not None  # as a notebook keeps its last exception
    train(tmp_path / "run")


def test_a_damaged_status_does_not_hide_the_other_runs(tmp_path: Path) -> None:
    train(tmp_path / "run")
    (tmp_path / "run" / "status.json").write_text("[]")
    assert run_status(tmp_path / "run")["status"] == "damaged"


def test_two_processes_cannot_train_in_one_folder(tmp_path: Path) -> None:
    train(tmp_path / "run")
    with FileLock(tmp_path / "run" / "lock"):
        assert run_status(tmp_path / "run")["status"] == "finished"
        with pytest.raises(UserError, match="Another process"):
            train(tmp_path / "run", env_steps=300)


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "agent"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    train(tmp_path / "run")
    file = tmp_path / "run" / "checkpoint.safetensors"
    content = file.read_bytes()
    agent = (tmp_path / "run" / "agent.safetensors").read_bytes()
    file.write_bytes({"truncated": content[:-100], "garbage": b"x" * 1000, "empty": b"", "agent": agent}[damage])
    damaged = file.read_bytes()
    with pytest.raises(UserError, match=r"checkpoint\.safetensors"):
        train(tmp_path / "run", env_steps=300)
    assert file.read_bytes() == damaged


def test_metrics_that_do_not_reach_the_checkpoint_are_refused(tmp_path: Path) -> None:
    train(tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    with pytest.raises(UserError, match="shorter"):
        train(tmp_path / "run", env_steps=300)


def test_a_failing_environment_keeps_the_last_checkpoint_and_says_so(tmp_path: Path) -> None:
    class Fails(RewardIsAction):
        episodes = 0

        def reward(self, action: int) -> float:
            Fails.episodes += 1
            return float("nan") if Fails.episodes == 21 else float(action)

    settings = {**TINY, "env_steps": 1000, "checkpoint_seconds": 0.0}
    with pytest.raises(TrainingError, match=r"reward that is not finite, at step 1 of episode \d"):
        udrl.train(environment=Fails, out=tmp_path / "run", **settings)
    assert run_status(tmp_path / "run")["status"] == "failed"
    assert udrl.Agent.load(tmp_path / "run").experience.env_steps > 0


def test_runs_are_found_and_their_state_is_told(tmp_path: Path) -> None:
    train(tmp_path / "a" / "finished")
    train(tmp_path / "b")
    status = json.loads((tmp_path / "b" / "status.json").read_text())
    (tmp_path / "b" / "status.json").write_text(json.dumps(status | {"status": "running"}))  # as after kill -9
    assert find_runs(tmp_path) == [tmp_path / "a" / "finished", tmp_path / "b"]
    assert run_status(tmp_path / "a" / "finished")["status"] == "finished"
    assert run_status(tmp_path / "b")["status"] == "interrupted"
    evaluations = [line for line in read_metrics(tmp_path / "b") if line["kind"] == "evaluation"]
    assert run_status(tmp_path / "b")["best"] == max(line["eval/return_mean"] for line in evaluations)


def test_the_best_agent_is_the_one_of_the_best_evaluation(tmp_path: Path) -> None:
    train(tmp_path / "run", env_steps=1500)
    evaluations = [line for line in read_metrics(tmp_path / "run") if line["kind"] == "evaluation"]
    best = max(evaluations, key=lambda line: line["eval/return_mean"])
    assert udrl.Agent.load(tmp_path / "run", best=True).experience.env_steps == best["env_steps"]


def test_tensorboard_gets_the_metrics(tmp_path: Path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    train(tmp_path / "run", tensorboard=True)
    events = loader.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    losses = [line["train/loss"] for line in read_metrics(tmp_path / "run") if line["kind"] == "iteration"]
    assert [round(event.value, 4) for event in events.Scalars("train/loss")] == [round(loss, 4) for loss in losses]

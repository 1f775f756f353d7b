"""Experiments through Ray: what is lost goes on, what fails stays alone, what is done is not done again."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import lost
import numpy as np
import pytest

from udrl import checkpoint
from udrl.api import ALGORITHMS
from udrl.cli import main
from udrl.errors import Interrupted, TrainingError, UserError
from udrl.experiments.definition import Experiment, load_experiment
from udrl.experiments.remote import Root, carry_out
from udrl.experiments.runner import complain, connected, make_board, ray_errors, read_board, run_experiment
from udrl.experiments.table import RunState

SMALL = """
n_updates_per_iter = 5
hidden_sizes = [8]
batch_size = 16
n_warm_up_episodes = 10
evaluation_interval = 1000
n_evaluation_episodes = 5
checkpoint_seconds = 0.0
"""
OWN = f"""
tasks = ["undisturbed", "killed", "hopeless", "failing"]
env_steps = 4000
{SMALL}
[task.undisturbed]
env_id = "lost:Undisturbed"
[task.killed]
env_id = "lost:KilledOnce"
[task.hopeless]
env_id = "lost:AlwaysKilled"
[task.failing]
env_id = "lost:Fails"
"""


@pytest.fixture(scope="module", autouse=True)
def ray_on_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv(lost.MARKERS, str(tmp_path_factory.mktemp("markers")))
    with connected(None):
        yield
    patch.undo()


def define(folder: Path, text: str) -> Experiment:
    file = folder / "experiment.toml"
    file.write_text(text)
    return load_experiment(file)


def metrics(run: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, RunState]]:
    folder = tmp_path_factory.mktemp("disturbed")
    states = run_experiment(define(folder, OWN), folder / "runs", quiet=True)
    return folder / "runs", {state.run.task: state for state in states}


def test_a_run_whose_process_is_killed_ends_with_the_weights_of_one_that_was_not(
    disturbed: tuple[Path, dict[str, RunState]],
) -> None:
    folder, states = disturbed
    assert (Path(os.environ[lost.MARKERS]) / "killed").exists()
    assert (states["killed"].status, states["killed"].losses) == ("done", 1)
    one, other = folder / "killed-udrl" / "seed-1", folder / "undisturbed-udrl" / "seed-1"
    assert metrics(one) == metrics(other)
    arrays = [checkpoint.load(run / "checkpoint.safetensors", "checkpoint")[0] for run in (one, other)]
    assert set(arrays[0]) == set(arrays[1])
    assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])


def test_a_failed_run_keeps_its_error_and_stops_no_other(disturbed: tuple[Path, dict[str, RunState]]) -> None:
    folder, states = disturbed
    assert (states["failing"].status, states["undisturbed"].status) == ("failed", "done")
    assert "the sky is falling" in (folder / "failing-udrl" / "seed-1" / "error.txt").read_text()
    with pytest.raises(TrainingError, match=r"2 of 4 runs failed \(hopeless-udrl/seed-1, failing-udrl/seed-1\)"):
        complain(list(states.values()))


def test_a_run_that_only_loses_processes_fails_in_the_end(disturbed: tuple[Path, dict[str, RunState]]) -> None:
    folder, states = disturbed
    assert (states["hopeless"].status, states["hopeless"].losses) == ("failed", 3)
    assert "without getting further" in (folder / "hopeless-udrl" / "seed-1" / "error.txt").read_text()


PLAIN = f'tasks = ["cartpole"]\n{SMALL}'


def test_stopped_and_started_again_it_does_what_is_missing(tmp_path: Path) -> None:
    text = f'tasks = ["waits"]\nenv_steps = 4000\n{SMALL}\n[task.waits]\nenv_id = "lost:Waits"'
    experiment, folder = define(tmp_path, f'seeds = "1-3"\n{text}'), tmp_path / "runs"

    def interrupt() -> None:
        while not list(folder.rglob("checkpoint.safetensors")):  # one runs, one runs or begins, and one waits
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(Interrupted, match="the same command continues"):
        run_experiment(experiment, folder, quiet=True)
    thread.join()
    assert {json.loads(file.read_text())["status"] for file in folder.rglob("status.json")} == {"stopped"}
    assert len(list(folder.rglob("status.json"))) < 3
    (Path(os.environ[lost.MARKERS]) / "hurry").touch()
    states = run_experiment(experiment, folder, quiet=True)
    assert [state.status for state in states] == ["done"] * 3
    (undisturbed,) = run_experiment(define(tmp_path, text), tmp_path / "undisturbed", quiet=True)
    name = undisturbed.run.name
    assert metrics(folder / name) == metrics(tmp_path / "undisturbed" / name)
    weights = (folder / name / "agent.safetensors").read_bytes()
    assert weights == (tmp_path / "undisturbed" / name / "agent.safetensors").read_bytes()


def test_done_is_done_until_the_budget_is_raised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs"
    file = tmp_path / "experiment.toml"
    assert define(tmp_path, f"env_steps = 1000\n{PLAIN}")
    assert main(["experiment", str(file), "--out", str(folder)]) == 0
    assert "1 done" in capsys.readouterr().out
    metrics_file = folder / "cartpole-udrl" / "seed-1" / "metrics.jsonl"
    before = metrics_file.stat().st_mtime_ns
    assert main(["experiment", str(file), "--out", str(folder)]) == 0
    assert metrics_file.stat().st_mtime_ns == before
    define(tmp_path, f"env_steps = 2000\n{PLAIN}")
    assert main(["experiment", str(file), "--out", str(folder), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "has 0 of them" in shown
    assert metrics_file.stat().st_mtime_ns == before
    assert main(["experiment", str(file), "--out", str(folder)]) == 0
    assert json.loads(metrics_file.read_text().splitlines()[-1])["env_steps"] >= 2000
    define(tmp_path, f"env_steps = 2000\nlast_few = 3\n{PLAIN}")
    assert main(["experiment", str(file), "--out", str(folder)]) == 2
    assert "holds another run (last_few is 10 there and 3 here)" in capsys.readouterr().err
    assert not list(folder.glob(".experiment-*"))


def test_files_come_back_from_where_they_are_not_seen(tmp_path: Path) -> None:
    import ray

    run = define(tmp_path, f"env_steps = 300\n{PLAIN}").runs[0]
    there = tmp_path / "there"
    task = ray.remote(max_calls=1)(carry_out)
    outcome = ray.get(task.remote(run, Root(there, "no such token"), 1, make_board()))
    assert outcome.status == "done"
    assert set(outcome.files) == {path.name for path in (there / run.name).glob("*.*") if path.stem != "checkpoint"}
    assert outcome.files["agent.safetensors"] == (there / run.name / "agent.safetensors").read_bytes()
    refused = ray.get(task.remote(run, Root(there, "no such token", must_be_shared=True), 1, make_board()))
    assert refused.status == "failed"
    assert "does not see the storage" in refused.message


def test_more_cores_than_any_machine_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give fewer by --cores"):
        run_experiment(define(tmp_path, PLAIN), tmp_path / "runs", cores=1000, quiet=True)


def test_every_algorithm_runs(tmp_path: Path) -> None:
    smoke = load_experiment(Path(__file__).parent.parent / "experiments" / "smoke.toml")
    assert {run.algorithm for run in smoke.runs} == set(ALGORITHMS)
    states = run_experiment(smoke, tmp_path, quiet=True)
    assert [state.status for state in states] == ["done"] * len(states)
    for state in states:
        config = json.loads((tmp_path / state.run.name / "config.json").read_text())
        assert config["algorithm"] == state.run.algorithm
        assert any(line["kind"] == "evaluation" for line in metrics(tmp_path / state.run.name))


def test_a_machine_that_was_asleep_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def still_waking(reference: object) -> None:
        raise ray_errors().ActorUnavailableError("keepalive watchdog timeout", actor_id=None)

    monkeypatch.setattr(ray, "get", still_waking)
    assert read_board(Mock()) == {}

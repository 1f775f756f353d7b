"""A run that is killed, stopped or extended ends like one that never was: same metrics, bit-identical weights."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUDGET = 12_000
SETTINGS = [
    "--n-updates-per-iter", "10",
    "--hidden-sizes", "16",
    "--evaluation-interval", "3000",
    "--n-evaluation-episodes", "10",
    "--checkpoint-seconds", "0",
]  # fmt: skip


def command(out: Path, env_steps: int = BUDGET, task: str = "cartpole") -> list[str]:
    return [
        sys.executable,
        "-m",
        "udrl.cli",
        "train",
        task,
        "--out",
        str(out),
        "--env-steps",
        str(env_steps),
        *SETTINGS,
    ]


def train(out: Path, env_steps: int = BUDGET) -> None:
    subprocess.run(command(out, env_steps), check=True, capture_output=True, timeout=120)


def metrics(out: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


def assert_same(one: Path, other: Path) -> None:
    assert metrics(one) == metrics(other)
    for name in ("agent.safetensors", "best_agent.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "uninterrupted"
    train(out)
    return out


def modified(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def run_until_killed(out: Path, seconds_after_a_checkpoint: float) -> bool:
    """Start the run, and kill it so long after it has written a checkpoint; false if it ended before."""
    before = modified(out / "checkpoint.safetensors")
    process = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while modified(out / "checkpoint.safetensors") == before and process.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds_after_a_checkpoint)
    process.kill()
    return process.wait() == -signal.SIGKILL


def test_kill_minus_nine_at_five_random_moments_changes_nothing(uninterrupted: Path, tmp_path: Path) -> None:
    out, moments = tmp_path / "killed", random.Random(0)
    process = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moments.uniform(0.5, 1.5))  # before the first checkpoint
    process.kill()
    process.wait()
    kills = sum(run_until_killed(out, moments.uniform(0.0, 0.2)) for _ in range(4))
    train(out)
    assert kills == 4
    assert_same(out, uninterrupted)


KILLED_BETWEEN_WRITING_AND_RENAMING = """
import os, signal, sys
from udrl import checkpoint, cli
replace, seen = os.replace, []
def kill_at_the_third_checkpoint(source, target):
    if str(target).endswith("checkpoint.safetensors"):
        seen.append(target)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = kill_at_the_third_checkpoint
sys.exit(cli.main(sys.argv[1:]))
"""


def test_kill_between_writing_and_renaming_a_checkpoint_changes_nothing(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    arguments = command(out)[3:]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BETWEEN_WRITING_AND_RENAMING, *arguments], capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL
    assert (out / "checkpoint.safetensors.tmp").exists()
    train(out)
    assert_same(out, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_says_how_to_go_on_and_changes_nothing(
    uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "stopped"
    process = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (out / "checkpoint.safetensors").exists():
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    assert json.loads((out / "status.json").read_text())["status"] == "stopped"
    train(out)
    assert_same(out, uninterrupted)


def test_raising_the_budget_of_a_finished_run_extends_it(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "extended"
    train(out, BUDGET // 2)
    assert metrics(out)[-1]["kind"] == "evaluation"
    train(out)
    assert metrics(out) == metrics(uninterrupted)
    assert (out / "agent.safetensors").read_bytes() == (uninterrupted / "agent.safetensors").read_bytes()


def test_a_finished_run_that_is_started_again_stays_as_it_is(uninterrupted: Path) -> None:
    before = metrics(uninterrupted)
    for _ in range(3):
        train(uninterrupted)
        assert metrics(uninterrupted) == before


def test_a_checkpoint_that_the_disk_refuses_leaves_the_run_usable(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "full"
    train(out, BUDGET // 4)
    limited = (
        "import resource, signal, sys; from udrl import cli; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({os.path.getsize(out / 'checkpoint.safetensors')}, -1)); "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    result = subprocess.run([sys.executable, "-c", limited, *command(out)[3:]], capture_output=True, text=True)
    assert result.returncode == 1
    assert "cannot be written" in result.stderr
    assert "Traceback" not in result.stderr
    train(out)
    assert_same(out, uninterrupted)

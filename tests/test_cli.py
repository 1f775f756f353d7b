"""The command line as a person meets it."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from udrl.cli import main

SMALL = [
    "--hidden-sizes",
    "8",
    "--batch-size",
    "8",
    "--n-updates-per-iter",
    "2",
    "--n-warm-up-episodes",
    "4",
    "--n-evaluation-episodes",
    "2",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "cartpole"
    assert main(["train", "cartpole", "--env-steps", "300", "--out", str(out), *SMALL]) == 0
    return out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("udrl train", "udrl evaluate", "udrl runs", "udrl tasks"))


@pytest.mark.parametrize("arguments", [["--help"], ["tasks"]])
def test_help_and_tasks_take_less_than_half_a_second(arguments: list[str]) -> None:
    def children() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime  # not the clock's time: a busy machine makes nothing slower

    before = children()
    subprocess.run([sys.executable, "-m", "udrl.cli", *arguments], check=True, capture_output=True)
    assert children() - before < 0.5


def test_train_help_explains_every_setting_with_the_tasks_values(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "lunarlander-sparse", "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--learning-rate FLOAT" in shown
    assert "0.000501187" in shown
    assert "Number of best episodes that are kept" in " ".join(shown.split())


def test_evaluate_gives_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--desired-return", "30", "--episodes", "5", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["desired_return"], summary["desired_horizon"], summary["episodes"]) == (30.0, 30.0, 5)


def test_evaluate_warns_of_an_order_that_was_never_seen(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--desired-return", "5000", "--episodes", "2"]) == 0
    assert "outside" in capsys.readouterr().out


def test_runs_lists_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(run.parent)]) == 0
    assert "finished" in capsys.readouterr().out


def test_any_gymnasium_environment_trains(tmp_path: Path) -> None:
    arguments = ["--env-steps", "1500", "--max-episode-steps", "100", "--out", str(tmp_path / "run"), *SMALL]
    assert main(["train", "--env-id", "Acrobot-v1", *arguments]) == 0
    assert (
        main(["train", "--env-id", "probes:CountedReward", *arguments[: -len(SMALL) - 1], str(tmp_path / "p"), *SMALL])
        == 0
    )
    assert main(["evaluate", str(tmp_path / "p"), "--env-id", "probes:CountedReward", "--episodes", "2"]) == 0


def test_a_factory_in_the_current_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import gymnasium\n\ndef make():\n    return gymnasium.make('CartPole-v1')\n")
    arguments = ["train", "--env-id", "mine:make", "--env-steps", "200", *SMALL]
    program = f"import sys; sys.path.remove(''); from udrl.cli import main; sys.exit(main({arguments}))"
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True).returncode == 0


def test_the_papers_text_is_one_flag(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["train", "cartpole", "--paper-text", "--env-steps", "200", "--out", str(out), *SMALL]) == 0
    config = json.loads((out / "config.json").read_text())
    assert (config["bound_commands"], config["output_init"], config["hidden_init_gain"]) == (
        "evaluation",
        "orthogonal",
        1.0,
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trian"], "Did you mean 'train'"),
        (["train"], "Say what to train on"),
        (["train", "lunarlnder"], "Did you mean 'lunarlander'"),
        (["train", "cartpole", "--learning-rat", "1"], "Did you mean '--learning-rate'"),
        (["train", "cartpole", "--learning-rate", "fast"], "--learning-rate"),
        (["train", "cartpole", "--batch-size", "0"], "batch_size must be at least 1"),
        (["train", "cartpole", "--env-id", "Acrobot-v1"], "not both"),
        (["train", "--env-id", "Acrobat-v1"], "Did you mean 'Acrobot-v1'"),
        (["train", "--env-id", "probes:Nothing"], "cannot be imported"),
        (["train", "--env-id", "builtins:dict"], "must be a gymnasium.Env"),
        (["train", "--env-id", ":"], "cannot be made"),
        (["train", "cartpole", "--from", "nowhere"], "There is no file"),
        (["train", "cartpole", "--demonstrations", "nowhere"], "There is no file"),
        (["evaluate"], "A run folder or an agent file"),
        (["evaluate", "nowhere"], "There is no file"),
        (["evaluate", "nowhere", "--episodes", "0"], "at least 1"),
        (["evaluate", "nowhere", "--seed", "-1"], "not negative"),
        (["runs", "nowhere"], "There is no folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert complaint in shown
    assert shown.count("\n") == 1
    assert "Traceback" not in shown
    assert not list(tmp_path.rglob("*.safetensors"))

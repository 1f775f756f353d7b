"""A search of a few trials: it scores as the paper does, resumes, stops bad trials early, and its best values train."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from udrl.cli import main
from udrl.experiments.grids import Grid
from udrl.experiments.runner import connected
from udrl.experiments.search import Record, Search, best_of, read_records, score

GRID = """
learning_rate = [0.001, 0.01]
fast_net_option = ["gated", "bilinear"]
hidden_sizes = [[8], [16]]
"""
COMMON = """
n_updates_per_iter = 3
batch_size = 16
n_warm_up_episodes = 4
n_episodes_per_iter = 4
evaluation_interval = 100
n_evaluation_episodes = 2
"""


@pytest.fixture(scope="module", autouse=True)
def ray_on_this_machine() -> Iterator[None]:
    with connected(None):
        yield


def command(folder: Path, *more: str) -> list[str]:
    (folder / "grid.toml").write_text(GRID)
    (folder / "common.toml").write_text(COMMON)
    files = ["--grid", str(folder / "grid.toml"), "--config", str(folder / "common.toml")]
    return ["search", "cartpole", *files, "--env-steps", "300", "--out", str(folder / "search"), *more]


def records(folder: Path) -> dict[str, dict[str, object]]:
    return {file.parent.name: json.loads(file.read_text()) for file in folder.rglob("trial.json")}


def test_the_score_is_the_mean_of_the_last_twenty_evaluations_over_seeds() -> None:
    # The last twenty of 30 and of 10 evaluations: means 19.5 and 104.5.
    long = [(100 * i, float(i)) for i in range(30)]
    short = [(100 * i, 100.0 + i) for i in range(10)]
    assert score([long, short]) == (19.5 + 104.5) / 2
    assert score([long, short], until=900) == (4.5 + 104.5) / 2


def test_a_search_resumes_and_its_best_values_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, "--trials", "1", "--seeds", "2")) == 0
    first = records(tmp_path)
    runs = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("metrics.jsonl")}
    assert (len(first), len(runs)) == (1, 2)
    assert main(command(tmp_path, "--trials", "2", "--seeds", "2")) == 0
    both = records(tmp_path)
    assert len(both) == 2
    assert both.items() >= first.items()
    assert {file: file.stat().st_mtime_ns for file in runs} == runs

    for name, record in both.items():
        means = []
        for seed in (1, 2):
            run = tmp_path / "search" / name / f"seed-{seed}"
            lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
            means.append(np.mean([line["eval/return_mean"] for line in lines if line["kind"] == "evaluation"]))
            assert json.loads((run / "config.json").read_text())["evaluation_seeds"] == "tuning"
        assert record["score"] == pytest.approx(np.mean(means))

    best = tomllib.loads((tmp_path / "search" / "best.toml").read_text())
    assert best == max(both.values(), key=lambda record: record["score"])["values"]  # type: ignore[return-value, arg-type]
    out = tmp_path / "trained"
    capsys.readouterr()
    train = ["train", "cartpole", "--config", str(tmp_path / "search" / "best.toml"), "--env-steps", "200"]
    assert main([*train, "--out", str(out), "--batch-size", "8", "--learning-rate", "0.5"]) == 0
    config = json.loads((out / "config.json").read_text())
    assert (config["fast_net_option"], config["hidden_sizes"]) == (best["fast_net_option"], best["hidden_sizes"])
    assert config["learning_rate"] == 0.5  # a flag wins over the file


def test_optunas_sampler_and_early_stopping(tmp_path: Path) -> None:
    more = ["--trials", "2", "--seeds", "1", "--sampler", "tpe", "--early-stopping", "asha"]
    assert main(command(tmp_path, *more)) == 0
    assert len(records(tmp_path)) == 2
    assert all(record["score"] is not None for record in records(tmp_path).values())


def test_records_of_another_search_are_left_alone(tmp_path: Path) -> None:
    grid = Grid({"last_few": (1, 2)}, trials=2, seeds=1)
    search = Search("cartpole", "udrl", grid, 2, 1, {}, tmp_path)
    other = Search("cartpole", "udrl", Grid({"last_few": (3, 4)}, 2, 1), 2, 1, {}, tmp_path)
    for one in (search, other):
        folder = one.trial_folder({"last_few": 1})
        folder.mkdir(parents=True)
        values = one.grid.settings({"last_few": 1})
        text = json.dumps({"indices": {"last_few": 1}, "values": values, "score": 1.0, "env_steps": 5, "seeds": 1})
        (folder / "trial.json").write_text(text)
    assert [record.values for record in read_records(search)] == [{"last_few": 2}]
    assert read_records(Search("cartpole", "udrl", grid, 2, 3, {}, tmp_path)) == []


def test_the_best_has_the_highest_score() -> None:
    found = [Record({}, {"last_few": i}, value) for i, value in enumerate([-5.0, None, -2.0, -9.0])]
    assert best_of(found) == found[2]
    assert best_of(found[1:2]) is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["search", "cartpole"], "no grid for udrl on cartpole: give one by --grid"),
        (["search", "lunarlnder"], "Did you mean 'lunarlander'"),
        (["search", "lunarlander", "--algorithm", "ppo"], "no grid for ppo on lunarlander"),
        (["search", "lunarlander", "--trials", "0"], "trials, seeds and cores must be at least 1"),
        (["search", "cartpole", "--grid", "nowhere.toml"], "cannot be read"),
        (["search", "cartpole", "--grid", "bad.toml"], "There is no setting 'learning_rat'. Did you mean"),
        (["search", "cartpole", "--grid", "single.toml"], "learning_rate must be a list of values"),
        (["train", "cartpole", "--config", "nowhere.toml"], "cannot be read"),
        (["train", "cartpole", "--config", "no.toml"], "not valid TOML"),
        (["train", "cartpole", "--config", "bad.toml"], "There is no setting 'learning_rat'. Did you mean"),
        (["train", "cartpole", "--config", "ppo.toml", "--algorithm", "dqn"], "is for another algorithm than dqn"),
    ],
)
def test_a_mistake_is_a_sentence(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text("learning_rat = [0.1]")
    Path("single.toml").write_text("learning_rate = 0.1")
    Path("no.toml").write_text("learning_rate =")
    Path("ppo.toml").write_text('algorithm = "ppo"')
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert complaint in shown
    assert shown.count("\n") == 1

"""Command sensitivity: the paper's horizons, what is ordered, and what is made of the answers."""

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import udrl
from udrl.cli import main
from udrl.errors import UserError
from udrl.experiments.sensitivity import (
    Order,
    Sensitivity,
    default_range,
    load_sensitivity,
    measure_sensitivity,
    orders_between,
)

TINY = {"hidden_sizes": (8,), "batch_size": 8, "n_updates_per_iter": 2, "n_warm_up_episodes": 4}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "cartpole"
    udrl.train("cartpole", env_steps=300, n_evaluation_episodes=2, out=out, quiet=True, **TINY)
    return out


@pytest.fixture(scope="module")
def agent(run: Path) -> udrl.Agent:
    return udrl.Agent.load(run)


def with_config(agent: udrl.Agent, **changes: object) -> udrl.Agent:
    """The agent, taken for one of another task."""
    aim = dataclasses.replace(agent.aim, horizon=77.0, horizon_is_return=bool(changes["horizon_is_return"]))
    return dataclasses.replace(agent, config=dataclasses.replace(agent.config, **changes), aim=aim)


@pytest.mark.parametrize(
    ("config", "desired", "horizons"),
    [
        ({"env_id": "udrl/TakeCover-v0", "horizon_is_return": True}, [100, 200, 300], [100, 200, 300]),
        ({"env_id": "CartPole-v1", "horizon_is_return": True}, [100, 200, 300], [100, 200, 300]),
        ({"env_id": "InvertedDoublePendulum-v4", "horizon_is_return": False}, [100, 200, 300], [10, 20, 30]),
        ({"env_id": "LunarLander-v3", "horizon_is_return": False}, [100, 200, 300], [77, 77, 77]),
    ],
)
def test_the_horizon_follows_the_papers_rule(
    agent: udrl.Agent, config: dict[str, object], desired: list[int], horizons: list[int]
) -> None:
    orders = orders_between(with_config(agent, **config), 100, 300, 3)
    assert [order.desired_return for order in orders] == pytest.approx(desired)
    assert [order.desired_horizon for order in orders] == pytest.approx(horizons)


def test_returns_that_are_horizons_are_whole_and_asked_for_once(agent: udrl.Agent) -> None:
    orders = orders_between(agent, 1, 3, 10)
    assert [(order.desired_return, order.desired_horizon) for order in orders] == [(1, 1), (2, 2), (3, 3)]


def test_a_horizon_is_never_shorter_than_a_step(agent: udrl.Agent) -> None:
    pendulum = with_config(agent, env_id="InvertedDoublePendulum-v4", horizon_is_return=False)
    assert [order.desired_horizon for order in orders_between(pendulum, -50, 50, 3)] == [1, 1, 5]


def test_the_usual_range_is_from_random_actions_to_the_best_episodes(agent: udrl.Agent, run: Path) -> None:
    first = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
    assert default_range(agent, run) == (first["warm_up/return_mean"], np.trunc(agent.aim.mean_return))
    assert default_range(agent) == (agent.experience.return_min, np.trunc(agent.aim.mean_return))
    bounded = dataclasses.replace(agent, config=dataclasses.replace(agent.config, max_return=5.0))
    assert default_range(bounded)[1] == 5.0


def result_of(desired: list[float], obtained: list[float]) -> Sensitivity:
    orders = [Order(d, 1.0, o, 0.0, o, o, 1.0, 1) for d, o in zip(desired, obtained, strict=True)]
    return Sensitivity("cartpole", "CartPole-v1", 1, 300, "the desired return", tuple(orders))


def test_numbers_of_an_agent_that_obtains_half_and_one_more() -> None:
    result = result_of([-10, 0, 10, 20], [-4, 1, 6, 11])
    assert result.correlation == pytest.approx(1)
    assert result.slope == pytest.approx(0.5)
    assert result.mean_absolute_error == pytest.approx((6 + 1 + 4 + 9) / 4)
    assert result.mean_relative_error == pytest.approx(20 / 40)


def test_numbers_of_an_agent_that_does_not_listen() -> None:
    result = result_of([10, 20], [15, 15])
    assert (result.correlation, result.slope) == (None, pytest.approx(0, abs=1e-12))


def test_an_order_obtains_what_evaluation_says(agent: udrl.Agent) -> None:
    result = measure_sensitivity(agent, 20, 30, orders=2, episodes=5, seed=3)
    expected = agent.evaluate(udrl.Command(30.0, 30.0), 5, seed=3).summary()
    assert dataclasses.asdict(result.orders[1]) == expected


def test_the_files_hold_the_result(agent: udrl.Agent, tmp_path: Path) -> None:
    result = measure_sensitivity(agent, 20, 30, orders=3, episodes=2)
    result.save(tmp_path)
    assert load_sensitivity(tmp_path / "sensitivity.json") == result
    rows = list(csv.DictReader((tmp_path / "sensitivity.csv").read_text().splitlines()))
    assert [float(row["return_mean"]) for row in rows] == result.obtained.tolist()


def test_the_command_writes_into_the_run_and_prints(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sensitivity", str(run), "--low", "10", "--high", "40", "--orders", "3", "--episodes", "2"]
    assert main(arguments) == 0
    assert "correlation" in capsys.readouterr().out
    assert all((run / f"sensitivity.{kind}").stat().st_size > 100 for kind in ("json", "csv", "svg", "png"))
    assert main([*arguments, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["orders"]) == 3


def test_several_runs_get_a_folder_each(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "agent.safetensors").write_bytes((run / "agent.safetensors").read_bytes())
    common = ["--low", "10", "--high", "20", "--orders", "2", "--episodes", "1", "--out", str(tmp_path / "out")]
    assert main(["sensitivity", str(run), str(other), *common]) == 0
    assert sorted(path.parent.name for path in (tmp_path / "out").rglob("sensitivity.json")) == ["cartpole", "other"]


def test_agents_of_other_algorithms_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"algorithm": "ppo"}')
    assert main(["sensitivity", str(tmp_path)]) == 2
    assert "trained by ppo, whose agents take no commands" in capsys.readouterr().err


@pytest.mark.parametrize(("low", "high", "n"), [(5, 5, 2), (6, 5, 2), (float("nan"), 5, 2), (1, 5, 0)])
def test_a_range_that_is_none_is_answered_with_a_sentence(agent: udrl.Agent, low: float, high: float, n: int) -> None:
    with pytest.raises(UserError, match="no range"):
        orders_between(agent, low, high, n)

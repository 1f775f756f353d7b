"""What is read from run folders and kept data, and how it is grouped."""

import json
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import write_run

from udrl.errors import UserError
from udrl.experiments.curve_files import read_curves, write_curves
from udrl.experiments.gather import Results, read_results, write_data
from udrl.experiments.results import evaluations_of, flags_of
from udrl.experiments.sensitivity import Order, Sensitivity


def labels(results: Results) -> list[tuple[str, str, list[int]]]:
    return [(group.task, group.label, [run.seed for run in group.runs]) for group in results.groups]


def test_runs_are_grouped_by_task_algorithm_and_what_differs(tmp_path: Path) -> None:
    for seed in (2, 1):
        write_run(tmp_path / f"u{seed}", [1, 2], seed=seed, fast_net_option="bilinear", learning_rate=0.1)
    write_run(tmp_path / "c", [1, 2], fast_net_option="concat", learning_rate=0.1)
    write_run(tmp_path / "l", [1, 2], fast_net_option="bilinear", learning_rate=0.25, text_segments=True)
    write_run(tmp_path / "deep" / "p", [1, 2], algorithm="ppo", learning_rate=0.3)
    write_run(tmp_path / "s", [1, 2], task="swimmer")
    write_run(tmp_path / "o", [1, 2], task=None, env_id="Own-v0", sparse=True)
    assert labels(read_results([tmp_path])) == [
        ("lunarlander", "udrl", [1, 2]),
        ("lunarlander", "udrl, concat", [1]),
        ("lunarlander", "udrl, learning rate 0.25, text segments", [1]),
        ("lunarlander", "ppo", [1]),
        ("swimmer", "udrl", [1]),
        ("Own-v0, sparse", "udrl", [1]),
    ]


def test_a_setting_that_all_runs_share_is_no_variant(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / f"{seed}", [1], seed=seed, batch_size=7)
    assert labels(read_results([tmp_path])) == [("lunarlander", "udrl", [1, 2])]


def test_the_same_seed_in_two_folders_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [1, 2])
    write_run(tmp_path / "b", [3, 4, 5])
    results = read_results([tmp_path, tmp_path / "a"])
    assert [run.returns.tolist() for group in results.groups for run in group.runs] == [[3, 4, 5]]
    assert any("more than once" in note for note in results.notes)


def test_the_last_evaluation_of_a_budget_that_is_no_multiple_is_left_out() -> None:
    lines = [{"env_steps": s, "eval/at": at, "eval/return_mean": m} for s, at, m in [(51, 50, 1), (101, 100, 2)]]
    extra = {"env_steps": 130, "eval/at": 100, "eval/return_mean": 9}
    assert [one.return_mean for one in evaluations_of([*lines, extra])] == [1, 2]


def test_a_run_that_is_evaluated_at_its_end_only_has_that_for_its_budget() -> None:
    (one,) = evaluations_of([{"env_steps": 130, "eval/at": 0, "eval/return_mean": 9}], budget=120)
    assert one.eval_at == 120


def test_damaged_and_unfinished_runs_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    damaged = write_run(tmp_path / "damaged", [1, 2, 3], seed=1)
    lines = (damaged / "metrics.jsonl").read_text().splitlines()
    (damaged / "metrics.jsonl").write_text("\n".join([*lines[:3], "{half a li", *lines[3:]]) + "\n")
    write_run(tmp_path / "new", [], seed=2, status="stopped")
    write_run(tmp_path / "whole", [1, 2, 3], seed=3)
    (write_run(tmp_path / "broken", [1], seed=4) / "config.json").write_text("{")
    results = read_results([tmp_path])
    (group,) = results.groups
    assert [len(run.evaluations) for run in group.runs] == [2, 0, 3]
    notes = "\n".join(results.notes)
    assert "broken was left out" in notes
    assert "a line of its metrics.jsonl is damaged" in notes
    assert "seed 2: no evaluation yet (stopped)" in notes
    assert "seed 1: 2 evaluations, to 101,000 steps" in notes


def test_a_line_that_is_still_being_written_is_no_damage(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1, 2])
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"kind": "eval')
    results = read_results([tmp_path])
    assert results.groups[0].runs[0].returns.tolist() == [1, 2]
    assert results.notes == []


def test_kept_data_give_back_what_the_runs_did(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", [1.5, -2, 3], seed=1)
    write_run(tmp_path / "runs" / "b", [4], seed=2, algorithm="ppo")
    order = Order(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8)
    agent = Sensitivity("lunarlander", "LunarLander-v3", 1, 9, "a rule", (order,))
    agent.save(tmp_path / "runs" / "a")
    results = read_results([tmp_path / "runs"])
    write_data(results, tmp_path / "kept", ["runs", "--data", "kept"])
    again = read_results([tmp_path / "kept"])
    assert labels(again) == labels(results)
    for before, now in zip(results.groups, again.groups, strict=True):
        assert str([run.evaluations for run in before.runs]) == str([run.evaluations for run in now.runs])  # NaN too
    assert again.agents == results.agents == {"lunarlander": {"seed 1": agent}}
    head = (tmp_path / "kept" / "curves" / "lunarlander.csv").read_text().splitlines()[:3]
    assert head[0].endswith("made by: udrl report runs --data kept")
    assert sorted(head[1:]) == [
        "# ppo: udrl train lunarlander --algorithm ppo --env-steps 50000 --seed S, for S in 2",
        "# udrl: udrl train lunarlander --env-steps 150000 --seed S, for S in 1",
    ]


def test_data_kept_again_beside_longer_runs_still_say_what_made_each(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / "old" / str(seed), [1, 2], seed=seed)
    write_data(read_results([tmp_path / "old"]), tmp_path / "kept", ["old"])
    write_run(tmp_path / "new" / "1", [1, 2, 3], seed=1)
    results = read_results([tmp_path / "new", tmp_path / "kept"])
    write_data(results, tmp_path / "kept", ["new", "kept"])
    head = (tmp_path / "kept" / "curves" / "lunarlander.csv").read_text().splitlines()[1:3]
    assert head == [
        "# udrl: udrl train lunarlander --env-steps 150000 --seed S, for S in 1",
        "# udrl: udrl train lunarlander --env-steps 100000 --seed S, for S in 2",
    ]


def test_flags_say_how_a_run_differs_from_its_task() -> None:
    config = {"task": "lunarlander", "env_id": "LunarLander-v3", "seed": 1, "sparse": False, "batch_size": 768}
    changed = {"hidden_sizes": [8, 9], "integer_horizon": False, "fast_net_option": "concat"}
    assert flags_of(config) == ""
    assert flags_of(config | changed) == "--fast-net-option concat --hidden-sizes 8 9 --no-integer-horizon"
    assert flags_of({"task": None, "env_id": "Own-v0", "seed": 1, "sparse": True}) == "--env-id Own-v0 --sparse"


def test_empty_folders_and_wrong_files_are_answered_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There are no runs in"):
        read_results([tmp_path])
    with pytest.raises(UserError, match="There is no"):
        read_results([tmp_path / "nowhere"])
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="no file of learning curves"):
        read_results([tmp_path / "other.csv"])
    (tmp_path / "x.json").write_text(json.dumps({"kind": "sensitivity"}))
    with pytest.raises(UserError, match="not what udrl sensitivity writes"):
        read_results([tmp_path / "x.json"])


def test_a_line_of_kept_data_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1])
    (file,) = write_curves(tmp_path / "kept", read_results([tmp_path / "run"]).groups, [])
    file.write_text(file.read_text().replace("50000", "fifty"))
    with pytest.raises(UserError, match="cannot be read"):
        read_curves(file)


def test_what_a_file_leaves_out_is_nan(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1])
    (one,) = read_results([tmp_path]).groups[0].runs[0].evaluations
    assert np.isnan([one.desired_return, one.desired_horizon]).all()
    assert (one.return_std, one.seconds) == (1.0, 51.0)

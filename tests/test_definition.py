"""An experiment's file against a list of runs written by hand, and its mistakes."""

from pathlib import Path

import pytest

from udrl.errors import UserError
from udrl.experiments.definition import load_experiment, parse_seeds, resolve

FILE = """
name = "mine"
tasks = ["cartpole"]
seeds = "1-2"
env_steps = 1000
batch_size = 8

[[runs]]
variants = ["gated", "concat"]
batch_size = 16

[[runs]]
tasks = ["lunarlander", "acrobot"]
algorithms = ["udrl", "trpo"]
seeds = [7]

[task.acrobot]
env_id = "Acrobot-v1"
evaluation_interval = 500

[algorithm.trpo]
batch_size = 64

[variant.gated]
fast_net_option = "gated"

[variant.concat]
fast_net_option = "concat"
batch_size = 32
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "file.toml"
    file.write_text(text)
    return file


def test_the_runs_are_all_combinations_and_the_particular_wins(tmp_path: Path) -> None:
    experiment = load_experiment(write(tmp_path, FILE))
    assert experiment.name == "mine"
    assert {run.name: run.arguments for run in experiment.runs} == {
        "cartpole-udrl-gated/seed-1": {
            "task": "cartpole", "seed": 1, "env_steps": 1000, "batch_size": 16, "fast_net_option": "gated",
        },
        "cartpole-udrl-gated/seed-2": {
            "task": "cartpole", "seed": 2, "env_steps": 1000, "batch_size": 16, "fast_net_option": "gated",
        },
        "cartpole-udrl-concat/seed-1": {
            "task": "cartpole", "seed": 1, "env_steps": 1000, "batch_size": 32, "fast_net_option": "concat",
        },
        "cartpole-udrl-concat/seed-2": {
            "task": "cartpole", "seed": 2, "env_steps": 1000, "batch_size": 32, "fast_net_option": "concat",
        },
        "lunarlander-udrl/seed-7": {"task": "lunarlander", "seed": 7, "env_steps": 1000, "batch_size": 8},
        "lunarlander-trpo/seed-7": {
            "task": "lunarlander", "algorithm": "trpo", "seed": 7, "env_steps": 1000, "batch_size": 64,
        },
        "acrobot-udrl/seed-7": {
            "env_id": "Acrobot-v1", "seed": 7, "env_steps": 1000, "batch_size": 8, "evaluation_interval": 500,
        },
        "acrobot-trpo/seed-7": {
            "env_id": "Acrobot-v1", "algorithm": "trpo", "seed": 7, "env_steps": 1000, "batch_size": 64,
            "evaluation_interval": 500,
        },
    }  # fmt: skip
    assert list(dict.fromkeys(run.group for run in experiment.runs)) == [
        "cartpole-udrl-gated", "cartpole-udrl-concat", "lunarlander-udrl", "lunarlander-trpo",
        "acrobot-udrl", "acrobot-trpo",
    ]  # fmt: skip


def test_what_a_run_comes_to_are_the_tasks_values_and_the_files(tmp_path: Path) -> None:
    run = load_experiment(write(tmp_path, 'tasks = ["lunarlander"]\nlast_few = 3')).runs[0]
    resolved = resolve(run)
    assert resolved.env_steps == 10_000_000
    assert (resolved.identity["last_few"], resolved.identity["replay_size"], resolved.identity["seed"]) == (3, 600, 1)


@pytest.mark.parametrize(
    ("written", "seeds"), [(3, [3]), ([1, 2, 5], [1, 2, 5]), ("1-4", [1, 2, 3, 4]), ("1-2, 9", [1, 2, 9])]
)
def test_seeds_are_written_as_a_person_does(written: object, seeds: list[int]) -> None:
    assert parse_seeds(written) == seeds


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tasks = [", "not valid TOML"),
        ("", "Say what to train on"),
        ('tasks = "cartpole"', "tasks must be a list of names"),
        ('tasks = ["cartpol"]', "Did you mean 'cartpole'"),
        ('task = ["cartpole"]', "task must be written as [task.NAME]"),
        ('taks = ["cartpole"]', "Did you mean 'tasks'"),
        ('tasks = ["cartpole"]\nsedes = 3', "Did you mean 'seeds'"),
        ('tasks = ["cartpole"]\nlearning_rat = 0.1', "Did you mean 'learning_rate'"),
        ('tasks = ["cartpole"]\nlearning_rate = "fast"', "cartpole-udrl: learning_rate must be"),
        ('tasks = ["cartpole"]\nseed = 3', "use seeds"),
        ('tasks = ["cartpole"]\nseeds = "1-"\n[variant.x]', "belongs to no run"),
        ('tasks = ["cartpole"]\nseeds = "a"', "seeds must be like"),
        ('tasks = ["cartpole"]\nseeds = "4-2"', "at least one seed"),
        ('tasks = ["cartpole"]\nseeds = "1-3, 2"', "none twice"),
        ('tasks = ["cartpole", "cartpole"]', "names something twice"),
        ('tasks = ["a/b"]', "cannot be part of a folder's name"),
        ('tasks = ["cartpole"]\nalgorithms = ["pop"]', "Did you mean 'ppo'"),
        ('tasks = ["cartpole"]\nvariants = ["gatd"]\n[variant.gated]', "Did you mean 'gated'"),
        ('tasks = ["cartpole"]\nalgorithms = ["ddpg"]', "ddpg is for continuous actions, and those of CartPole-v1"),
        ('tasks = ["cartpole"]\n[task.cartpol]\nlast_few = 1', "Did you mean 'cartpole'"),
        ('tasks = ["cartpole"]\n[algorithm.udrl]\nseeds = 1', "does not belong into [algorithm.udrl]"),
        ('tasks = ["cartpole"]\n[variants.gated]\nlast_few = 1', "variants must be a list"),
        ('tasks = ["cartpole"]\n[taks.cartpole]\nlast_few = 1', "Did you mean 'tasks'"),
        ('tasks = ["cartpole"]\n[runs]\nseeds = 1', "[[runs]]"),
        ('tasks = ["cartpole"]\n[[runs]]\n[[runs]]\nlast_few = 1', "Two groups have the run cartpole-udrl/seed-1"),
    ],
)
def test_a_mistake_is_a_sentence(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        load_experiment(write(tmp_path, text))
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


COUNTS = {
    "figure3": 2 * 3 * 20 + 2 * 4 * 20,
    "figure4": 2 * 20 + 3 * 20 + 4 * 20,
    "swimmer-sparse": 4 * 20,
    "sensitivity": 6,
    "conditioning": 3 * 20,
    "results": 5 + 9 + 10 + 5 + 12,
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_papers_experiments_have_their_runs(name: str) -> None:
    file = Path(__file__).parent.parent / "experiments" / f"{name}.toml"
    assert len(load_experiment(file).runs) == COUNTS[name]

"""A Ray cluster of two nodes, one of which is lost half-way: the results are those of a cluster that loses none."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lost
import numpy as np
import pytest

from udrl import checkpoint
from udrl.experiments.definition import Experiment, load_experiment
from udrl.experiments.runner import connected, prepare_environment, run_experiment

TEXT = """
tasks = ["waits"]
seeds = "1-8"
env_steps = 1500
n_updates_per_iter = 5
hidden_sizes = [8]
batch_size = 16
n_warm_up_episodes = 10
evaluation_interval = 500
n_evaluation_episodes = 5
checkpoint_seconds = 0.0

[task.waits]
env_id = "lost:Waits"
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv(lost.MARKERS, str(tmp_path))
    (tmp_path / "hurry").touch()
    prepare_environment()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.second = cluster.add_node(**node)  # type: ignore[attr-defined]
    with connected(cluster.address):
        yield cluster
    cluster.shutdown()


def statuses(folder: Path) -> list[str]:
    """What the runs say of themselves; a file is whole or not there."""
    return [json.loads(file.read_text())["status"] for file in folder.rglob("status.json")]


def metrics(run: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


def test_a_node_that_is_lost_half_way_changes_no_result(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(TEXT)
    experiment: Experiment = load_experiment(file)
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    run_experiment(experiment, undisturbed, cluster.address, quiet=True)

    def lose_a_node() -> None:
        while statuses(disturbed).count("finished") < 4:
            time.sleep(0.05)
        (tmp_path / "hurry").unlink()  # so that both nodes are in the middle of a run
        while statuses(disturbed).count("running") < 2:
            time.sleep(0.05)
        cluster.remove_node(cluster.second)
        (tmp_path / "hurry").touch()

    thread = threading.Thread(target=lose_a_node)
    thread.start()
    states = run_experiment(experiment, disturbed, cluster.address, shared=True, quiet=True)
    thread.join()

    assert [state.status for state in states] == ["done"] * 8
    assert sum(state.losses for state in states) == 1
    assert len([node for node in cluster.list_all_nodes() if node is not cluster.second]) == 1
    for state in states:
        one, other = undisturbed / state.run.name, disturbed / state.run.name
        assert metrics(one) == metrics(other)
        weights = [checkpoint.load(run / "checkpoint.safetensors", "checkpoint")[0] for run in (one, other)]
        assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])
        assert os.path.getsize(one / "agent.safetensors") > 0
        assert (one / "agent.safetensors").read_bytes() == (other / "agent.safetensors").read_bytes()

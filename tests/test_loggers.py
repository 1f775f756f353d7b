"""Weights & Biases, without a network. TensorBoard is tested with the run's folder."""

import importlib.util
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from probes import CountedReward
from test_agent import TINY

import udrl
from udrl import UserError
from udrl.run_folder import read_metrics


def records(data: bytes) -> Iterator[bytes]:
    """W&B writes LevelDB's format of logs: records cut at blocks of 32 KiB, after a head of seven bytes."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, n, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7 : at + 7 + n]
        at += 7 + n
        if kind in (1, 4):  # all of a record, or its end
            yield whole
            whole = b""


def logged(out: Path) -> list[dict[str, str]]:
    """The lines of metrics in W&B's offline files."""
    from wandb.proto import wandb_internal_pb2

    kind: Any = getattr(wandb_internal_pb2, "Record")  # noqa: B009 (made when it is imported: no checker sees it)
    found = [
        kind.FromString(data)
        for file in sorted(out.glob("wandb/offline-run-*/*.wandb"))
        for data in records(file.read_bytes())
    ]
    lines = [record.history.item for record in found if record.WhichOneof("record_type") == "history"]
    return [{item.key or item.nested_key[0]: item.value_json for item in line} for line in lines]


@pytest.mark.parametrize("algorithm", ["udrl", "a2c"])
def test_wandb_gets_the_metrics_over_env_steps(algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    settings: dict[str, Any] = {**TINY, "evaluation_interval": 100, "wandb": True, "out": tmp_path / "run"}
    if algorithm == "a2c":
        pytest.importorskip("stable_baselines3")
        names = ("hidden_sizes", "n_evaluation_episodes", "env_steps", "quiet", "evaluation_interval", "wandb", "out")
        settings = {name: settings[name] for name in names}
    udrl.train("cartpole", algorithm=algorithm, **settings)
    evaluations = [line for line in read_metrics(tmp_path / "run") if line["kind"] == "evaluation"]
    assert evaluations
    got: list[dict[str, str]] = []
    for _ in range(100):  # W&B's own process writes the file, and may do so a little later
        got = [line for line in logged(tmp_path / "run") if "eval/return_mean" in line]
        if len(got) == len(evaluations):
            break
        time.sleep(0.1)
    for name in ("env_steps", "eval/at", "eval/return_mean"):
        assert [float(line[name]) for line in got] == [line[name] for line in evaluations]


@pytest.mark.parametrize(("flag", "name"), [("wandb", "Weights & Biases"), ("tensorboard", "TensorBoard")])
def test_a_missing_extra_is_named_before_anything_is_begun(
    flag: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"{name} needs an extra: pip install 'udrl\[{flag}\]'"):
        udrl.train(environment=CountedReward, out=tmp_path / "run", **{**TINY, flag: True})
    assert not (tmp_path / "run").exists()


def test_without_a_folder_nothing_is_logged() -> None:
    with pytest.raises(UserError, match="give one as out"):
        udrl.train(environment=CountedReward, wandb=True, **TINY)

"""Runs side by side get cores of their own, and a process is left as it was."""

import os
import subprocess
import sys

import pytest

from udrl.cores import allowed_cores, own_cores, take_core

pytestmark = pytest.mark.skipif(len(allowed_cores()) < 2, reason="needs two cores and a system that tells")

ANOTHER = "from udrl.cores import allowed_cores, own_cores\nwith own_cores(1): print(*allowed_cores())"


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def another_run() -> list[int]:
    """The cores that a run in another process gets now."""
    everything = f"import os; os.sched_setaffinity(0, range({os.cpu_count()}))\n"
    shown = subprocess.run([sys.executable, "-c", everything + ANOTHER], capture_output=True, text=True, check=True)
    return [int(core) for core in shown.stdout.split()]


def test_two_runs_get_different_cores_and_give_them_back() -> None:
    before = allowed_cores()
    with own_cores(1):
        (mine,) = allowed_cores()
        assert mine not in another_run()
    assert allowed_cores() == before
    assert another_run() == [mine]


def test_who_finds_no_free_core_uses_all() -> None:
    before = allowed_cores()
    with own_cores(len(before)):
        assert allowed_cores() == before


def test_workers_share_the_runs_cores() -> None:
    before = allowed_cores()
    try:
        take_core(0, len(before) + 1)
        assert allowed_cores() == before
        take_core(1, len(before))
        assert allowed_cores() == [before[1]]
    finally:
        os.sched_setaffinity(0, before)


def test_devices_share_the_batches_of_networks_that_gain_from_it() -> None:
    program = (
        "from udrl.cores import *; limit_cores(2)\n"
        "print(*(choose_mesh('cpu', *which).size for which in [(False, 512, 2000), (False, 768, 27000), (True, 64, 9),"
        " (False, 767, 27000)]))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["1", "2", "2", "1"]

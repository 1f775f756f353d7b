"""Keep what runs measured, without their weights: configuration and evaluations of each run, as small files.

python scripts/collect_results.py runs results
"""

import json
import shutil
from pathlib import Path

import tyro

from udrl.run_folder import CONFIG, find_runs, read_metrics


def collect(runs: tyro.conf.Positional[Path], results: tyro.conf.Positional[Path]) -> None:
    """Copy configuration and evaluations of the runs in a folder into another, with the same names."""
    for run in find_runs(runs):
        target = results / run.relative_to(runs)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(run / CONFIG, target / CONFIG)
        lines = [json.dumps(line) + "\n" for line in read_metrics(run) if line["kind"] == "evaluation"]
        (target / "evaluations.jsonl").write_text("".join(lines))
        print(f"{target}: {len(lines)} evaluations")


if __name__ == "__main__":
    tyro.cli(collect)

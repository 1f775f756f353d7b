"""The figures of the README, from the files in results/.

python scripts/figures.py
"""

import json
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS, FIGURES = Path("results"), Path("docs/figures")
BLUE, ORANGE, GREY = "#2563eb", "#d97706", "#6b7280"
MILLION = 1e6


def evaluations(run: Path) -> tuple[np.ndarray, np.ndarray]:
    """Multiples of the interval [n], and the mean return at each [n]."""
    lines = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    at = {line["eval/at"]: line["eval/return_mean"] for line in lines}
    return np.array(list(at)), np.array(list(at.values()))


def learning_curves(task: str, seeds: list[int], color: str, axes: Axes) -> None:
    """Every seed as a thin line, their mean as a thick one."""
    curves = [evaluations(RESULTS / task / f"seed-{seed}") for seed in seeds]
    n = min(len(at) for at, _ in curves)
    for at, returns in curves:
        axes.plot(at / MILLION, returns, color=color, alpha=0.3, linewidth=0.9)
    mean = np.mean([returns[:n] for _, returns in curves], axis=0)
    axes.plot(curves[0][0][:n] / MILLION, mean, color=color, linewidth=2.2, label=f"{task}, mean of {len(seeds)} seeds")


def draw_learning() -> None:
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    learning_curves("lunarlander", [1, 2, 3, 4], BLUE, axes)
    learning_curves("lunarlander-sparse", [1, 2, 3, 4], ORANGE, axes)
    axes.axhline(200, color=GREY, linewidth=0.8, linestyle="--")
    axes.annotate("solved at 200", (0.02, 206), color=GREY, fontsize=8)
    axes.set(xlabel="environment steps (millions)", ylabel="evaluation return", ylim=(-250, 320), xlim=(0, 3))
    finish(figure, axes, "learning")


def draw_obedience() -> None:
    lines = [json.loads(line) for line in (RESULTS / "cartpole" / "obedience.jsonl").read_text().splitlines()]
    figure, axes = plt.subplots(figsize=(4.4, 3.8), layout="constrained")
    axes.plot([0, 420], [0, 420], color=GREY, linewidth=0.8, linestyle="--", label="desired = obtained")
    for line in lines:
        label = "an agent (5 seeds), ± 1 std" if line is lines[0] else None
        axes.errorbar(
            line["desired"], line["obtained"], line["std"], color=BLUE, alpha=0.6, marker="o", markersize=3,
            linewidth=0.9, elinewidth=0.7, label=label,
        )  # fmt: skip
    axes.set(xlabel="desired return", ylabel="obtained return", title="CartPole, 100 episodes per order")
    finish(figure, axes, "obedience")


def finish(figure: Figure, axes: Axes, name: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png", dpi=160)
    plt.close(figure)


if __name__ == "__main__":
    draw_learning()
    draw_obedience()

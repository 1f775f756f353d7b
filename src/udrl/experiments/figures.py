"""The figures: command sensitivity, learning curves."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from udrl.experiments.sensitivity import Sensitivity
from udrl.experiments.style import MARKERS, MUTED, STYLE, panels, series_style


def draw_sensitivity(agents: Sequence[Sensitivity], title: str = "") -> Figure:
    """Obtained against desired returns of agents of one task, with deviations."""
    with mpl.rc_context(STYLE):
        figure, (axes,) = panels(1)
        sensitivity_panel(axes, agents)
        axes.set_title(title)
        return figure


def sensitivity_panel(axes: Axes, agents: Sequence[Sensitivity]) -> None:
    low = min(agent.desired.min() for agent in agents)
    high = max(agent.desired.max() for agent in agents)
    axes.plot([low, high], [low, high], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), label="desired")
    for i, agent in enumerate(agents):
        correlation = "" if agent.correlation is None else f" (R = {agent.correlation:.2f})"
        axes.errorbar(
            agent.desired,
            agent.obtained,
            [order.return_std for order in agent.orders],
            color=series_style(i)["color"],
            marker=MARKERS[i % len(MARKERS)],
            markersize=2.8,
            linewidth=1.0,
            elinewidth=0.6,
            label=f"seed {agent.seed}{correlation}",
        )
    axes.set(xlabel="desired return", ylabel="obtained return")
    axes.legend(loc="upper left")

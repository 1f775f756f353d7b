"""How figures look: one palette for pictures and page, in the light and in the dark, and files of them."""

import html
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from udrl.checkpoint import whole_file

# Okabe and Ito's colors, which people of all kinds of color vision tell apart; darker where white needs it.
SERIES = ("#0072b2", "#d55e00", "#00835f", "#b0568f", "#9a6a00", "#50606f")
DARK_SERIES = ("#5cb8f0", "#ff8f57", "#33c99a", "#e49fc9", "#e8b844", "#a9b6c2")
INK, MUTED, FAINT, PAPER = "#1c2128", "#5b6570", "#dfe3e8", "#ffffff"
DARK_INK, DARK_MUTED, DARK_FAINT, DARK_PAPER = "#e8ebef", "#9fa9b4", "#343b44", "#15191e"
IN_THE_DARK = dict(zip((*SERIES, INK, MUTED, FAINT), (*DARK_SERIES, DARK_INK, DARK_MUTED, DARK_FAINT), strict=True))
"""What each color becomes."""
DASHES = ("-", (0, (4, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1, 1.5)))
"""A second sign besides color: after the last color the next dash."""
MARKERS = ("o", "s", "^", "D", "v", "P")

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.formatter.useoffset": False,
    "svg.fonttype": "none",  # text stays text: it can be found, and takes the page's font
    "svg.hashsalt": "udrl",  # the same figure is the same file
}
DPI = 220
WIDTH, HEIGHT = 4.4, 2.9
"""Of one panel in inches: text of 8 points can be read where a phone shows it 343 pixels wide."""


def series_style(i: int) -> dict[str, Any]:
    """Color and dash of the i-th series."""
    return {"color": SERIES[i % len(SERIES)], "linestyle": DASHES[i // len(SERIES) % len(DASHES)]}


def panels(n: int) -> tuple[Figure, list[Axes]]:
    """A figure of n panels, at most three beside each other."""
    columns = 2 if n == 4 else min(n, 3)
    rows = -(-n // columns)
    figure = Figure((WIDTH * columns, HEIGHT * rows), dpi=DPI, layout="constrained")
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(n)]
    return figure, axes


def dark_rules(scope: str = "") -> str:
    """Style sheet rules that turn the colors of a figure into those of the dark.

    The figure itself keeps plain colors, so that programs that know no such rules show it in the light.
    """
    return "\n".join(
        f'{scope}[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in IN_THE_DARK.items()
        for kind in ("stroke", "fill")
    )


def as_svg(figure: Figure) -> str:
    """The figure as an SVG element without a background, to stand in a page or in a file of its own."""
    text = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def color_rules() -> str:
    """The palette as variables of a page, and its figures in the dark."""
    names = [f"s{i}" for i in range(len(SERIES))] + ["ink", "muted", "faint", "paper"]
    light, dark = (
        ";".join(f"--{name}:{color}" for name, color in zip(names, colors, strict=True))
        for colors in (
            (*SERIES, INK, MUTED, FAINT, PAPER),
            (*DARK_SERIES, DARK_INK, DARK_MUTED, DARK_FAINT, DARK_PAPER),
        )
    )
    rules = dark_rules("figure ")
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{\n:root{{{dark}}}\n{rules}\n}}"


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as part of a page: names of its own, the page's width, words for who cannot see it."""
    svg = as_svg(figure)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description)}" ', 1)


def save_figure(figure: Figure, path: Path) -> None:
    """`path`.svg, which follows the reader's light or dark, and `path`.png on white."""
    rules = f"<style>@media (prefers-color-scheme: dark){{\n{dark_rules()}\n}}</style>"
    svg = as_svg(figure)
    start = svg.index(">") + 1
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    with whole_file(path.with_name(f"{path.name}.svg")) as temporary:
        temporary.write_text(f"{head}{svg[:start]}\n{rules}{svg[start:]}")
    with whole_file(path.with_name(f"{path.name}.png")) as temporary, mpl.rc_context(STYLE):
        figure.savefig(temporary, format="png", metadata={"Software": None})

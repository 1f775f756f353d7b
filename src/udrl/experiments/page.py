"""A report as one page: tables and figures as HTML that asks nothing of any other machine."""

import html
import json
import math
from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from udrl.experiments.curve_files import shorten
from udrl.experiments.figures import Picture
from udrl.experiments.style import SERIES, color_rules, inline_svg
from udrl.experiments.tables import Row

MISSING = "–"


def fill_page(title: str, summary: str, contents: dict[str, str], sections: Sequence[str], footer: str) -> str:
    """The page, from its parts; `contents` are names by the ids of sections."""
    template = Template(files("udrl.experiments").joinpath("report.html").read_text(encoding="utf-8"))
    links = "\n".join(f'<a href="#{anchor}">{escape(name)}</a>' for anchor, name in contents.items())
    parts = {"title": escape(title), "summary": escape(summary), "contents": links, "footer": footer}
    return template.substitute(parts, sections="\n".join(sections), colors=color_rules())


def section(anchor: str, title: str, text: str, *parts: str) -> str:
    body = "\n".join(part for part in parts if part)
    words = f'<p class="quiet">{escape(text)}</p>' if text else ""
    return f'<section id="{anchor}">\n<h2>{escape(title)}</h2>\n{words}\n{body}\n</section>'


def figures(pictures: Sequence[Picture]) -> str:
    return f'<div class="figures">{"".join(map(_figure, pictures))}</div>' if pictures else ""


def folded(summary: str, body: str) -> str:
    """What is shown on demand."""
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>"


def bullets(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Cells are HTML; the columns of `words` are aligned to the left."""
    kind = [' class="word"' if i in words else "" for i in range(len(header))]
    head = "".join(f'<th scope="col"{kind[i]}>{name}</th>' for i, name in enumerate(header))
    lines = [
        f'<th scope="row">{row[0]}</th>' + "".join(f"<td{kind[i]}>{cell}</td>" for i, cell in enumerate(row) if i)
        for row in rows
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    name = escape(caption)
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{name}"><table><caption>{name}</caption>\n<thead>'
        f"<tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _figure(picture: Picture) -> str:
    svg = inline_svg(picture.figure, picture.name, picture.caption)
    links = " · ".join(f'<a href="figures/{picture.name}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png", "csv"))
    plot = f' data-plot="{escape(json.dumps(_plot(picture), allow_nan=False))}"' if picture.values else ""
    return f"<figure{plot}>\n{svg}<figcaption>{escape(picture.caption)} <span>{links}</span></figcaption></figure>"


def _plot(picture: Picture) -> dict[str, Any]:
    """What the page needs to tell the values under a pointer."""
    axes = picture.figure.axes[0]
    place = axes.get_position()  # as parts of the figure, from below
    series = []
    name = "agent" if "agent" in picture.rows[0] else "curve"
    for label in dict.fromkeys(row[name] for row in picture.rows):
        rows = [row for row in picture.rows if row[name] == label]
        points = [[shorten(row[column]) for column in picture.values] for row in rows]
        points = [[None if value == "" else value for value in point] for point in points]
        series.append({"label": label, "color": picture.colors[label] % len(SERIES), "points": points})
    return {
        "name": axes.get_xlabel(),
        "frame": [place.x0, place.x1, 1 - place.y1, 1 - place.y0],
        "x": list(axes.get_xlim()),
        "series": series,
    }


def escape(text: str) -> str:
    return html.escape(text, quote=True)


def labelled(label: str, color: int) -> str:
    """A name with the color that it has in the figures."""
    return f'<span class="swatch" style="--c:var(--s{color % len(SERIES)})"></span>{escape(label)}'


def number(value: float | None) -> str:
    """A return, with as many digits as it is worth."""
    if value is None or math.isnan(value):
        return MISSING
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}").replace("-", "−")


def with_interval(row: Row, name: str) -> str:
    """A value, and its interval below it."""
    if name not in row:
        return MISSING
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    below = "" if math.isnan(low) else f"<small>{number(low)} to {number(high)}</small>"
    return f"{number(row[name])}{below}"


def steps(value: float) -> str:
    """A number of steps in a few letters."""
    if not math.isfinite(value):
        return MISSING
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value / 1e3:.0f} K" if value >= 1e4 else f"{value:,.0f}"


def between(low: float, high: float, show: Callable[[float], str]) -> str:
    """One value, or a range of them."""
    return show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"

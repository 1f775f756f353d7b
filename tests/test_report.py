"""The report: the right numbers, data equal to what is drawn, a page that opens anywhere."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import write_run

from udrl.cli import main
from udrl.experiments.gather import Results, read_results
from udrl.experiments.report import color_places, draw, write_report
from udrl.experiments.sensitivity import Order, Sensitivity
from udrl.experiments.style import series_style

CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def write_runs(folder: Path) -> None:
    """Two algorithms and two settings on one task, another task, one run that is not whole, and a sensitivity."""
    write_run(folder / "u1", [0, 100, 200, 220, 240, 260], seed=1, fast_net_option="bilinear")
    write_run(folder / "u2", [0, 50, 100, 150, 180, 190], seed=2, fast_net_option="bilinear")
    write_run(folder / "c1", [0, 10], seed=1, fast_net_option="concat", status="stopped")
    write_run(folder / "p1", [100, 300], seed=1, algorithm="ppo")
    write_run(folder / "s1", [1, 2, 3], seed=1, task="swimmer", env_id="Swimmer-v4")
    orders = tuple(Order(10.0 * i, 9.0, 5.0 * i, 1.0 + i, 0.0, 1.0, 9.0, 4) for i in range(3))
    Sensitivity("lunarlander", "LunarLander-v3", 1, 300, "that of the end of training", orders).save(folder / "u1")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    runs = tmp_path_factory.mktemp("runs")
    write_runs(runs)
    return read_results([runs])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, results: Results) -> Path:
    return write_report(results, tmp_path_factory.mktemp("report"), "Made-up <runs>").parent


def rows_of(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_the_tables_hold_what_is_derived_by_hand(report: Path) -> None:
    rows = {(row["task"], row["curve"]): row for row in rows_of(report / "performance.csv")}
    assert list(rows) == [
        ("lunarlander", "udrl"),
        ("lunarlander", "udrl, concat"),
        ("lunarlander", "ppo"),
        ("swimmer", "udrl"),
    ]
    ours = rows["lunarlander", "udrl"]
    # The last five of seed 1: 100 to 260, mean 204; of seed 2: 50 to 190, mean 134.
    assert float(ours["last5"]) == pytest.approx((204 + 134) / 2)
    assert (float(ours["last5_low"]), float(ours["last5_high"])) == (134, 204)
    assert float(ours["best"]) == 260
    # Seed 1 reaches 200 at its third evaluation, and the mean of five at its last; seed 2 never does.
    assert (ours["solved_seeds"], ours["solved_steps_first"], ours["solved_steps_median"]) == ("1", "151000.0", "")
    assert (ours["solved5_seeds"], ours["solved5_steps_first"]) == ("1", "301000.0")
    assert rows["lunarlander", "ppo"]["solved_steps_median"] == "101000.0"
    assert rows["swimmer", "udrl"]["last5"] == "2.0"


def test_speed_and_cost(report: Path) -> None:
    row = rows_of(report / "cost.csv")[0]
    assert float(row["steps_per_second_mean"]) == pytest.approx(301_000 / 301)
    assert float(row["minutes_mean"]) == pytest.approx(301 / 60, rel=1e-6)
    assert float(row["hours_total"]) == pytest.approx(2 * 301 / 3600, rel=1e-6)


def test_the_page_says_the_numbers(report: Path) -> None:
    page = (report / "index.html").read_text()
    assert "<title>Made-up &lt;runs&gt;</title>" in page
    assert re.search(r"udrl</th><td>2</td><td>301 K</td><td>169\.0<small>134\.0 to 204\.0</small>", page)
    assert "–<small>1 of 2 seeds</small>" in page  # no median: half of the seeds did not get there
    assert "lunarlander, udrl, concat, seed 1: stopped, 2 evaluations, to 101,000 steps." in page


def test_what_is_drawn_is_in_the_tables_beside_it(results: Results, report: Path) -> None:
    colors = color_places(results.groups)
    for picture in draw(results, colors).learning["lunarlander"]:
        what = picture.name.split("-")[0]
        rows = rows_of(report / "figures" / f"{picture.name}.csv")
        drawn = {str(line.get_label()): line for line in picture.figure.axes[0].lines if line.get_marker() != "_"}
        for label in ("udrl", "udrl, concat", "ppo"):
            of_curve = [row for row in rows if row["curve"] == label]
            x, y = np.array(drawn[label].get_data(), np.float64)
            np.testing.assert_array_equal(x, [float(row["eval_at"]) for row in of_curve])
            np.testing.assert_allclose(y, [float(row[what]) for row in of_curve], rtol=1e-6)
            assert drawn[label].get_color() == series_style(colors[label])["color"]


def test_every_figure_has_its_files_and_its_pictures_for_documents(report: Path) -> None:
    names = {file.stem for file in (report / "figures").iterdir()}
    assert {"learning", "obedience", "mean-lunarlander", "iqm-swimmer", "sensitivity-lunarlander"} <= names
    for name in names:
        assert (report / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        svg = (report / "figures" / f"{name}.svg").read_text()
        assert "prefers-color-scheme: dark" in svg
        assert len(rows_of(report / "figures" / f"{name}.csv")) > 0
    sensitivity = rows_of(report / "figures" / "obedience.csv")
    assert [float(row["return_mean"]) for row in sensitivity] == [0, 5, 10]


def test_the_same_results_give_the_same_files(results: Results, report: Path, tmp_path: Path) -> None:
    again = write_report(results, tmp_path, "Made-up <runs>").parent
    for file in report.rglob("*.*"):
        assert (again / file.relative_to(report)).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize(("returns", "status"), [([5.0], "finished"), ([], "stopped"), ([1.0, 1.0], "finished")])
def test_one_run_of_any_length_has_a_report(
    returns: list[float], status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run", returns, task=None, env_id="Own-v0", status=status)
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Own-v0" in page
    assert ("No evaluation yet" in page) == (not returns)
    assert "1 run on 1 task" in capsys.readouterr().out


def test_the_command_answers_mistakes_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "There are no runs in" in capsys.readouterr().err
    assert main(["report"]) == 2


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", None):
            if path is None or Path(path).exists():
                try:
                    found = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
                except api.Error:
                    pytest.skip("no Chromium is installed")
                yield found
                found.close()
                return


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1280, "light")])
def test_the_page_opens_without_errors_and_asks_nothing_of_anyone(
    browser: Any, report: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = (report / "index.html").as_uri()
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 25, 30)"
    assert dark == (scheme == "dark")
    fills = page.evaluate("[...document.querySelectorAll('figure svg text')].map(one => getComputedStyle(one).fill)")
    inks = {"dark": {"rgb(232, 235, 239)", "rgb(159, 169, 180)"}, "light": {"rgb(28, 33, 40)", "rgb(91, 101, 112)"}}
    assert set(fills) == inks[scheme]
    page.click("summary >> nth=0")
    assert page.is_visible("#task-lunarlander details figure >> nth=0")
    box = page.locator("figure[data-plot]").nth(0).bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    assert (errors, requests) == ([], [address])
    page.close()


def test_values_under_the_pointer_are_those_of_the_curves(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((report / "index.html").as_uri())
    figure = page.locator("#task-lunarlander figure[data-plot]").nth(0)
    figure.scroll_into_view_if_needed()
    box = figure.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 0.5 * box["height"])
    shown = figure.locator(".tip").inner_text()
    assert "300,000" in shown  # the last evaluation, of seeds that obtained 260 and 190
    assert re.search(r"udrl 225 \[190, 260\]", shown.replace("\n", " ")), shown
    page.close()

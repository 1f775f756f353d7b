"""The pictures of docs/commander.md: screenshots of the page in a headless Chromium.

    python scripts/commander_figures.py RUN

RUN is a folder with runs of cartpole and of at least two seeds of lunarlander; without it the agents of `udrl demo`.
"""

import dataclasses
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro
from playwright.sync_api import Page, sync_playwright

import udrl

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
PRETRAINED = Path(udrl.__file__).parent / "page" / "pretrained"
PATIENCE = 300.0


@dataclasses.dataclass(frozen=True)
class Arguments:
    run: tyro.conf.Positional[Path] = PRETRAINED
    """A folder of runs or of agent files."""
    out: Path = FIGURES
    """Where the pictures go."""


class Viewer:
    """A page, waited for and photographed."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(1000 * PATIENCE)
        self.page: Page = context.new_page()
        self.page.goto(address)
        self.until(lambda: self.now("step") > 0)

    def until(self, condition: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            self.page.wait_for_timeout(20)

    def now(self, name: str) -> float:
        texts = self.page.locator(f"#now-{name}").all_text_contents()
        return float(texts[0].replace("−", "-")) if texts and re.fullmatch(r"[−\d.]+", texts[0]) else -1.0

    def choose(self, select: str, pattern: str) -> bool:
        """The first agent whose name fits."""
        labels = self.page.locator(f"{select} option").all_text_contents()
        found = next((label for label in labels if re.search(pattern, label)), None)
        if found is not None and self.page.locator(f"{select} option:checked").text_content() != found:
            self.page.select_option(select, label=found)
            self.until(lambda: found in self.page.title())
        return found is not None

    def order(self, desired_return: float, desired_horizon: float) -> None:
        for name, value in (("return", desired_return), ("horizon", desired_horizon)):
            self.page.fill(f"#desired-{name}", str(value))
            self.page.press(f"#desired-{name}", "Enter")

    def save(self, path: Path, whole: bool = True) -> None:
        self.page.evaluate("() => document.activeElement.blur()")
        self.page.screenshot(path=path, full_page=whole)
        print(path, flush=True)


def lunarlander(viewer: Viewer, out: Path) -> None:
    """One agent under way, with an order in mid-flight."""
    viewer.choose("#agent", "lunarlander.*best|lunarlander")
    viewer.page.click("#fill")
    viewer.until(lambda: viewer.page.locator("#points tr").count() >= 50)
    viewer.page.click('[data-preset="evaluation"]')
    viewer.page.fill("#seed", "1")
    viewer.page.press("#seed", "Enter")
    viewer.until(lambda: viewer.now("step") < 20)
    viewer.until(lambda: 40 < viewer.now("step") < 200)
    viewer.order(120, 300)
    viewer.until(lambda: viewer.now("step") > 90)
    viewer.page.click("#play")
    viewer.save(out / "commander-lunarlander.png")


def compare(viewer: Viewer, out: Path) -> None:
    if viewer.choose("#other", "seed2.*best|seed2"):
        viewer.until(lambda: viewer.page.locator("#pictures figure").count() == 2)
        viewer.page.click('[data-preset="evaluation"]')
        viewer.page.click("#play")
        viewer.until(lambda: viewer.now("step") > 120)
        viewer.save(out / "commander-compare.png")


def scatter(viewer: Viewer, out: Path) -> None:
    viewer.choose("#agent", "cartpole.*best|cartpole")
    viewer.page.click("#fill")
    viewer.until(lambda: viewer.page.locator("#points tr").count() >= 50)
    viewer.until(lambda: viewer.now("step") > 100)
    viewer.save(out / "commander-scatter.png")


def small(viewer: Viewer, out: Path) -> None:
    """On a phone, and with dark colours."""
    viewer.choose("#agent", "lunarlander.*best|lunarlander")
    viewer.until(lambda: viewer.now("step") > 70)
    viewer.page.click("#play")
    viewer.save(out, whole=False)


def main(arguments: Arguments) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    command = [sys.executable, "-m", "udrl.cli", "play", str(arguments.run), "--no-browser", "--best"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("http://"))
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            viewer = Viewer(browser, address)
            lunarlander(viewer, arguments.out)
            compare(viewer, arguments.out)
            scatter(Viewer(browser, address), arguments.out)
            phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "color_scheme": "dark"}
            small(Viewer(browser, address, **phone), arguments.out / "commander-phone.png")
            small(Viewer(browser, address, color_scheme="dark"), arguments.out / "commander-dark.png")
        finally:
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main(tyro.cli(Arguments))

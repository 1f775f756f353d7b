"""The commander in a real browser without a screen: a person orders, watches, changes their mind."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("websockets")
playwright = pytest.importorskip("playwright.sync_api")

from pages import PATIENCE, serving, until

import udrl
from udrl.page.agents import Agents, find_agents
from udrl.render import work_without_screen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PRETRAINED = Path(udrl.__file__).parent / "page" / "pretrained"
work_without_screen()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("agents")
    for name, source in (("a", "cartpole"), ("b", "cartpole"), ("lander", "lunarlander")):
        shutil.copy(PRETRAINED / f"{source}.safetensors", folder / f"{name}.safetensors")
    with serving(Agents(find_agents(folder))) as (_, served):
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 960}, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: set[str] = set()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(request.url))
        self.page.goto(address)
        self.until(lambda: self.now("step") > 0)

    def until(self, condition: Callable[[], Any]) -> None:
        until(condition, self.page.wait_for_timeout, 20)

    def now(self, name: str) -> float:
        """What the page says of now; −1 where it says nothing."""
        text = "".join(self.page.locator(f"#now-{name}").all_text_contents())
        return float(text.replace("−", "-")) if re.fullmatch(r"[−\d.]+", text) else -1.0

    def pause(self) -> None:
        if self.page.locator("#play").get_attribute("aria-pressed") == "true":
            self.page.click("#play")
        self.page.locator("#play[aria-pressed=false]").wait_for()

    def quicken(self) -> None:
        self.page.fill("#speed", "4")

    def order(self, desired_return: float, desired_horizon: float) -> None:
        self.page.fill("#desired-return", str(desired_return))
        self.page.press("#desired-return", "Enter")
        self.page.fill("#desired-horizon", str(desired_horizon))
        self.page.press("#desired-horizon", "Enter")

    def points(self) -> list[list[float]]:
        """Desired and obtained of the episodes in the table."""
        rows = self.page.locator("#points tr").all_text_contents() and self.page.locator("#points tr").all()
        cells = [row.locator("td").all_text_contents() for row in rows]
        return [[float(text.replace("−", "-")) for text in row[1:3]] for row in cells]

    def choose(self, select: str, label: str) -> None:
        self.page.select_option(select, label=label)


@pytest.fixture
def person(browser: Any, address: str) -> Iterator[Person]:
    someone = Person(browser, address)
    yield someone
    assert not someone.complaints
    assert all(url.startswith((address, "blob:")) for url in someone.asked)
    someone.context.close()


def test_a_newcomer_orders_and_the_return_approaches_the_order(person: Person) -> None:
    person.pause()
    person.page.uncheck("#repeat")
    person.order(60, 60)
    person.page.fill("#seed", "3")
    person.page.press("#seed", "Enter")
    person.until(lambda: person.now("step") == 0 and person.now("desired") == 60)
    person.quicken()
    person.page.click("#play")
    person.until(lambda: len(person.points()) == 1)
    [[desired, obtained]] = person.points()
    assert desired == 60
    assert 45 <= obtained <= 75
    assert person.now("obtained") == obtained
    assert person.now("desired") == 60 - obtained


def test_an_order_in_mid_flight_holds_at_once(person: Person) -> None:
    person.until(lambda: person.now("step") >= 20)
    person.pause()
    t, obtained = person.now("step"), person.now("obtained")
    before = person.page.locator(".chance .number").all_text_contents()
    person.order(15, 15)
    person.until(lambda: person.now("desired") == 15 and person.now("steps") == 15)
    assert (person.now("step"), person.now("obtained")) == (t, obtained)
    person.page.keyboard.press("Tab")
    person.page.click("#step")
    person.until(lambda: person.now("step") == t + 1)
    assert person.now("desired") == 14
    assert person.page.locator(".chance .number").all_text_contents() != before
    person.quicken()
    person.page.click("#play")
    person.until(lambda: person.points())
    desired, total = person.points()[0]
    assert desired == obtained + 15
    assert abs(total - desired) <= 15


def test_dials_obey_keys_and_hands(person: Person) -> None:
    dial = person.page.get_by_role("slider", name="Desired return")
    person.pause()
    dial.focus()
    person.page.keyboard.press("End")
    person.until(lambda: dial.get_attribute("aria-valuenow") == "500")
    person.page.keyboard.press("ArrowLeft")
    person.until(lambda: float(dial.get_attribute("aria-valuenow") or 0) < 500)
    lower = float(dial.get_attribute("aria-valuenow") or 0)
    person.until(lambda: person.now("desired") == lower == person.now("steps"))  # one reward a step: both
    box = dial.bounding_box()
    person.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.1)
    person.page.mouse.down()
    person.page.mouse.up()
    person.until(lambda: 200 < float(dial.get_attribute("aria-valuenow") or 0) < 310)  # the middle of the range
    person.page.locator("body").press("3")
    person.until(lambda: person.now("desired") == 9)
    assert "outside" not in (dial.get_attribute("aria-valuetext") or "")
    person.order(5000, 5000)
    person.until(lambda: "outside" in (dial.get_attribute("aria-valuetext") or ""))


def test_the_scatter_fills_and_lies_on_the_diagonal(person: Person) -> None:
    person.pause()
    person.page.click("#fill")
    person.page.locator("#filling").wait_for()
    person.until(lambda: person.page.locator("#points tr").count() == 50)
    said = person.page.locator("#obedience-said").text_content() or ""
    found = re.fullmatch(r"50 episodes, correlation (0\.\d\d|1\.00)\.", said)
    assert found, said
    assert float(found[1]) > 0.95
    person.page.click("#clear")
    person.until(lambda: person.page.locator("#points tr").count() == 0)


def test_agents_are_switched_and_compared(person: Person) -> None:
    assert person.page.locator("#other option").all_text_contents() == ["nothing", "b"]  # of the same environment
    person.choose("#other", "b")
    person.until(lambda: person.page.locator("#pictures figure").count() == 2)
    person.pause()
    person.page.uncheck("#repeat")
    person.order(40, 40)
    person.page.click("#restart")
    person.page.click("#play")
    person.quicken()
    person.until(lambda: len(person.points()) == 2)
    assert person.points()[0] == person.points()[1]  # the same agent, order and seed
    person.choose("#agent", "lander")
    person.until(lambda: person.page.title().startswith("lander"))
    assert person.page.locator("#pictures figure").count() == 1
    assert person.page.locator(".chance").count() == 4
    assert person.page.locator(".chance .name").all_text_contents()[2] == "main engine"


def test_two_people_at_once_have_episodes_of_their_own(browser: Any, address: str, person: Person) -> None:
    other = Person(browser, address)
    for someone, order, seed in ((person, 40, 1), (other, 90, 2)):
        someone.pause()
        someone.page.uncheck("#repeat")
        someone.order(order, order)
        someone.page.fill("#seed", str(seed))
        someone.page.press("#seed", "Enter")
        someone.until(lambda someone=someone, order=order: (someone.now("step"), someone.now("desired")) == (0, order))
    for someone in (person, other):
        someone.page.click("#play")
    for someone, order in ((person, 40), (other, 90)):
        someone.until(lambda someone=someone: someone.points())
        [[desired, obtained]] = someone.points()
        assert desired == order
        assert obtained == pytest.approx(order, abs=15)
    other.context.close()
    person.page.click("#restart")
    person.until(lambda: person.now("step") == 0)


def test_what_cannot_be_ordered_is_one_sentence(person: Person) -> None:
    person.page.fill("#desired-return", "1e300")
    person.page.press("#desired-return", "Enter")
    alert = person.page.get_by_role("alert")
    playwright.expect(alert).to_contain_text("finite number")
    alert.get_by_role("button").click()
    playwright.expect(alert).to_be_hidden()
    person.page.fill("#desired-return", "")
    person.page.press("#desired-return", "Enter")
    playwright.expect(alert).to_contain_text("valid number")


def test_an_episode_is_kept(person: Person, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    person.page.uncheck("#repeat")
    person.order(12, 12)
    person.page.click("#restart")
    person.until(lambda: person.points())
    person.page.get_by_role("button", name="Video of this episode").click()
    link = person.page.get_by_role("link", name="Save episode-1.mp4")
    link.wait_for()
    with person.page.expect_download() as download:
        link.click()
    download.value.save_as(tmp_path / "episode.mp4")
    assert (tmp_path / "episode.mp4").read_bytes()[4:8] == b"ftyp"
    person.page.get_by_role("button", name="Python lines").click()
    played: dict[str, Any] = {}
    program = person.page.locator("#program code", has_text="follower")  # it comes from the server
    exec(program.text_content() or "", played)
    assert played["follower"].obtained == person.points()[-1][1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_in_its_width(browser: Any, address: str, scheme: str) -> None:
    phone = Person(browser, address, viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True)
    width = phone.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 390
    for selector in ("#dials svg", "#play", "#presets button", "#obedience-plot", "#course-plot"):
        for box in (one.bounding_box() for one in phone.page.locator(selector).all()):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
    paper = phone.page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper))) < 200) == (scheme == "dark")
    phone.page.get_by_role("button", name="Best", exact=True).tap()
    phone.until(lambda: phone.now("desired") > 300)
    assert not phone.complaints
    phone.context.close()


def test_everything_has_a_name_and_keys_work(person: Person) -> None:
    nameless = person.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas, [role=slider], progress")]
        .filter((one) => one.offsetParent && !(one.textContent.trim() || one.getAttribute("aria-label")
            || one.labels?.length || one.getAttribute("aria-labelledby"))).map((one) => one.outerHTML)"""
    )
    assert nameless == []
    body = person.page.locator("body")
    body.press(" ")
    person.page.locator("#play[aria-pressed=false]").wait_for()
    t = person.now("step")
    body.press(".")
    person.until(lambda: person.now("step") == t + 1)
    body.press("n")
    person.until(lambda: person.now("step") == 0 and person.page.locator("#seed").input_value() == "1")

"""The parts of the page that need no server."""

import io
import json
import math
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("websockets")
Image = pytest.importorskip("PIL.Image")

from pages import untrained
from probes import ContinuousAction, CountedReward, Probe

import udrl
from udrl import Agent, Command, UserError
from udrl.page import messages, pictures
from udrl.page.agents import Agents, Listed, find_agents
from udrl.page.guard import is_own_host, is_own_origin
from udrl.page.lines import python_lines
from udrl.page.messages import Allowance, read_message
from udrl.page.pace import MOST_UNSEEN, Pace
from udrl.page.performance import Performance
from udrl.page.presets import Scale, presets, scale_of, spread_orders
from udrl.render import work_without_screen

PRETRAINED = Path(udrl.__file__).parent / "page" / "pretrained"
CARTPOLE, LUNARLANDER = PRETRAINED / "cartpole.safetensors", PRETRAINED / "lunarlander.safetensors"
work_without_screen()


@pytest.fixture(scope="module")
def cartpole() -> Agent:
    return Agent.load(CARTPOLE)


@pytest.fixture(scope="module")
def lunarlander() -> Agent:
    return Agent.load(LUNARLANDER)


@pytest.fixture(scope="module")
def counter() -> Agent:
    return untrained(CountedReward)


class Images(Probe):
    """Sees bytes, and draws nothing."""

    n_steps = 3
    observation_space = gym.spaces.Box(0, 255, (12, 16), np.uint8)  # pyright: ignore[reportAssignmentType]

    def observation(self) -> np.ndarray:
        return np.full((12, 16), 40 * self.t, np.uint8)

    def reward(self, action: Any) -> float:
        return 1.0


def test_the_pretrained_agents_are_small() -> None:
    assert sum(file.stat().st_size for file in PRETRAINED.iterdir()) < 1 << 20
    assert {one.label for one in find_agents(PRETRAINED)} == {"cartpole", "lunarlander"}


def test_a_scale_and_its_inverse() -> None:
    for scale in (Scale(9.0, 500.0, None), Scale(-2258.0, 284.0, 94.0)):
        assert scale.place(scale.low) == pytest.approx(0)
        assert scale.place(scale.high) == pytest.approx(1)
        places = np.linspace(-0.2, 1.2, 29)
        values = [scale.value(place) for place in places]
        assert (np.diff(values) > 0).all()
        assert [scale.place(value) for value in values] == pytest.approx(places)


def test_orders_to_begin_with(cartpole: Agent, lunarlander: Agent) -> None:
    assert scale_of(cartpole) == Scale(9.0, 500.0, None)
    assert presets(cartpole) == {
        "best": Command(500.0, 500),
        "middling": Command(254.0, 254),
        "worst": Command(9.0, 9),
        "evaluation": cartpole.evaluation_command,
    }
    orders, seen = presets(lunarlander), lunarlander.experience
    assert float(orders["worst"].desired_return) == pytest.approx(seen.return_min, abs=0.5)
    assert float(orders["worst"].desired_horizon) == seen.horizon_min
    assert seen.return_min < orders["middling"].desired_return < orders["best"].desired_return <= 300
    assert orders["evaluation"] == lunarlander.evaluation_command


def test_any_first_orders_are_spread_over_the_whole_range(lunarlander: Agent) -> None:
    scale = scale_of(lunarlander)
    for n in (8, 50):
        places = sorted(scale.place(float(order.desired_return)) for order in spread_orders(lunarlander, 50, 400)[:n])
        assert places[0] >= 0
        assert places[-1] <= 1
        assert np.diff([0, *places, 1]).max() < 2.7 / n
    assert all(order.desired_horizon == 400 for order in spread_orders(lunarlander, 5, 400))


def test_a_tied_horizon_follows_the_return(cartpole: Agent) -> None:
    for order in spread_orders(cartpole, 20, 7.0):
        assert order.desired_horizon == order.desired_return == int(order.desired_return)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not understood"),
        ("[]", "not understood"),
        ("{}", "not understood"),
        ('{"type": "import"}', "not understood"),
        ('{"type": "play", "on": "yes"}', "not understood"),
        ('{"type": "play", "on": true, "more": 1}', "not understood"),
        ('{"type": "order", "desired_return": "not a number"}', "valid number"),
        ('{"type": "speed", "times": 1e9}', "less than or equal"),
        ('{"type": "speed", "times": NaN}', "not understood"),
        ('{"type": "restart", "seed": -1}', "greater than"),
        ('{"type": "restart", "seed": 2.5}', "integer"),
        ('{"type": "agents", "agents": ["../../etc/passwd"]}', "integer"),
        ('{"type": "agents", "agents": []}', "at least 1"),
        ('{"type": "agents", "agents": [0, 0, 0]}', "at most 2"),
        ('{"type": "fill", "episodes": 100000}', "less than"),
        ('{"type": "record", "format": "sh"}', "mp4"),
        ('{"type": "here", "x": "' + "x" * 5000 + '"}', "at most 2048"),
        ("[" * 1000, "not understood"),
    ],
)
def test_a_message_that_is_not_one_of_ours_is_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        read_message(text)
    assert "\n" not in str(raised.value)


def test_messages_are_what_they_say() -> None:
    assert read_message('{"type": "order", "desired_return": 5}') == messages.Order(type="order", desired_return=5.0)
    assert read_message('{"type": "speed", "times": null}') == messages.Speed(type="speed", times=None)


def test_so_many_messages_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    allowance = Allowance(per_second=10, at_once=3)
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 0.1
    assert [allowance.take() for _ in range(2)] == [True, False]
    now[0] = 60.0
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("header", "bound", "is_ours"),
    [
        ("127.0.0.1:8000", "127.0.0.1", True),
        ("localhost:8000", "127.0.0.1", True),
        ("LOCALHOST", "127.0.0.1", True),
        ("[::1]:8000", "127.0.0.1", True),
        ("evil.example:8000", "127.0.0.1", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("evil.example@127.0.0.1.evil.example", "127.0.0.1", False),
        ("192.168.1.7:8000", "127.0.0.1", False),
        ("0.0.0.0:8000", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("[::1", "127.0.0.1", False),
        ("192.168.1.7:8000", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", False),
        ("lab.example:80", "lab.example", True),
    ],
)
def test_whose_name_a_request_may_use(header: str, bound: str, is_ours: bool) -> None:
    assert is_own_host(header, bound) == is_ours


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://127.0.0.1:8000", True),
        ("http://127.0.0.1:9000", False),
        ("http://localhost:8000", False),
        ("http://evil.example", False),
        ("null", False),
        ("file://", False),
        ("", False),
    ],
)
def test_whose_page_a_request_may_come_from(origin: str, is_ours: bool) -> None:
    assert is_own_origin(origin, "127.0.0.1:8000") == is_ours


def test_a_browser_that_shows_nothing_gets_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pace = Pace()
    numbers = []
    while pace.may_send():
        numbers.append(pace.sent())
    assert numbers == list(range(1, MOST_UNSEEN + 1))
    pace.seen(99)  # which it never was sent
    assert not pace.may_send()
    assert not pace.is_stalled()
    now[0] += 6
    assert pace.is_stalled()
    pace.seen(MOST_UNSEEN)
    assert pace.may_send()
    assert not pace.is_stalled()


@pytest.mark.parametrize(("times", "at_once", "seconds"), [(1.0, 1, 0.02), (0.25, 1, 0.08), (12.0, 10, 1 / 60)])
def test_real_time_is_kept(monkeypatch: pytest.MonkeyPatch, times: float, at_once: int, seconds: float) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pace = Pace()
    pace.times = times
    pace.begin()
    for i in range(1, 100):
        assert pace.wait() == pytest.approx(0, abs=1e-9)
        assert pace.steps(50.0) == at_once
        now[0] = 100 + i * seconds
    now[0] += 60  # the machine was busy: it does not run after what it missed
    for _ in range(2):
        assert pace.steps(50.0) == at_once
    assert pace.wait() > 0


def test_a_mid_flight_order_holds_from_the_next_step(cartpole: Agent) -> None:
    show = Performance(cartpole, None, draws=False)
    first = show.begin(Command(100.0, 100.0), seed=3)
    assert first[:4] == [0, 100.0, 100.0, 0.0]
    rows = show.advance(5)
    assert [row[:4] for row in rows] == [[t, 100.0 - t, 100.0 - t, float(t)] for t in range(6)]
    assert [row[5] is None for row in rows] == [False] * 5 + [True]
    row = show.order(20.0, None)
    assert row[:4] == [5, 20.0, 95.0, 5.0]
    assert row[4] != rows[-1][4]  # other probabilities at once
    assert sum(row[4]) == pytest.approx(1, abs=1e-3)
    assert show.advance(1)[-1][:4] == [6, 19.0, 94.0, 6.0]
    assert {t: (c.desired_return, c.desired_horizon) for t, c in show.orders.items()} == {0: (100, 100), 5: (20, 95)}
    while not show.is_over:
        show.advance(100)
    outcome = show.outcome()
    assert outcome.desired_return == pytest.approx(25)  # five obtained, and twenty more asked for
    assert outcome.obtained == outcome.steps
    assert show.advance(10) == []
    show.close()


def test_what_is_asked_of_a_continuous_agent_comes_as_means_and_spreads() -> None:
    agent = untrained(ContinuousAction)
    show = Performance(agent, ContinuousAction, draws=False)
    [mean, std] = show.begin(Command(1.0, 1.0), seed=0)[4]
    assert -3 <= mean <= 3
    assert 0 < std < 3 * math.exp(2)
    action = show.advance(1)[0][5]
    assert action == pytest.approx([mean], abs=1e-3)  # the mode of a Normal is its mean


@pytest.mark.parametrize(("environment", "size"), [(CountedReward, (600, 400)), (Images, (16, 12))])
def test_what_does_not_draw_itself_is_drawn_from_what_it_observes(environment: Any, size: tuple[int, int]) -> None:
    agent = untrained(environment)
    show = Performance(agent, environment)
    assert not show.draws
    assert "render_mode" in (show.why_not or "")
    show.begin(Command(1.0, 3.0), seed=0)
    before = show.picture()
    show.advance(2)
    after = show.picture()
    assert (before != after).any()
    assert Image.open(io.BytesIO(show.jpeg())).size == size
    show.close()


def test_an_image_of_any_layout_is_shown() -> None:
    image = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    np.testing.assert_array_equal(pictures.as_picture(image), image)
    np.testing.assert_array_equal(pictures.as_picture(np.moveaxis(image, 2, 0)), image)
    assert (pictures.as_picture(image[:, :, :2]) == image[:, :, 1:2]).all()
    assert pictures.as_picture(image[:, :, 0]).shape == (5, 7, 3)


def test_large_pictures_are_shrunk() -> None:
    encoded = pictures.encode(np.zeros((1000, 2000, 3), np.uint8))
    assert Image.open(io.BytesIO(encoded)).size == (800, 400)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_python_lines_play_the_same_episode(tmp_path: Path, sparse: bool) -> None:
    agent = untrained(lambda: gym.make("CartPole-v1"), env_id="CartPole-v1", sparse=sparse, max_episode_steps=30)
    agent.save(tmp_path / "it's.safetensors")
    show = Performance(agent, None)
    show.begin(Command(25.0, 25.0), seed=11)
    show.advance(4)
    show.order(12.5, 9.0)
    while not show.is_over:
        show.advance(7)
    lines = python_lines(agent, tmp_path / "it's.safetensors", None, show.draws, show.orders, show.seed)
    played: dict[str, Any] = {}
    exec(lines, played)
    assert played["t"] == show.outcome().steps
    assert played["follower"].obtained == show.outcome().obtained
    assert float(played["follower"].command.desired_return) == pytest.approx(
        12.5 + 4 * (not sparse) - show.outcome().obtained
    )
    show.close()


def test_the_python_lines_name_an_environment_of_the_users_own(counter: Agent, tmp_path: Path) -> None:
    counter.save(tmp_path / "agent.safetensors")
    show = Performance(counter, CountedReward, draws=False)
    show.begin(Command(5.0, 8.0), seed=1)
    show.advance(100)
    played: dict[str, Any] = {}
    exec(python_lines(counter, tmp_path / "agent.safetensors", "probes:CountedReward", False, show.orders, 1), played)
    assert played["follower"].obtained == show.outcome().obtained


def test_agents_are_found_where_runs_are(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        for file in ("config.json", "metrics.jsonl", "checkpoint.safetensors"):
            (run / file).touch()
        for file in ("agent.safetensors", "best_agent.safetensors"):
            shutil.copy(CARTPOLE, run / file)
    labels = ["a", "a, best", "b", "b, best"]
    assert [one.label for one in find_agents(tmp_path / "runs")] == labels
    assert [one.label for one in find_agents(tmp_path / "runs", best=True)] == [labels[i] for i in (1, 0, 3, 2)]
    assert [one.label for one in find_agents(tmp_path / "runs" / "a")] == ["a", "a, best"]
    assert [one.label for one in find_agents(tmp_path / "runs" / "a" / "agent.safetensors")] == ["agent"]
    assert {one.environment for one in find_agents(tmp_path)} == {"CartPole-v1"}
    with pytest.raises(UserError, match="There is no agent in"):
        find_agents(Path(__file__).parent)
    with pytest.raises(UserError, match="There is no file or folder"):
        find_agents(tmp_path / "nothing")


def test_what_the_page_is_told_of_an_agent_is_json(lunarlander: Agent) -> None:
    about = Agents([Listed("lunarlander", LUNARLANDER, "LunarLander-v3")]).about(0)
    json.dumps(about, allow_nan=False)
    assert about["actions"]["groups"] == [["nothing", "left engine", "main engine", "right engine"]]
    assert about["seen"]["desired_return"] == [lunarlander.experience.return_min, lunarlander.experience.return_max]


def test_only_agents_of_the_list_can_be_had() -> None:
    agents = Agents(find_agents(PRETRAINED))
    for number in (-1, 2, 10**6):
        with pytest.raises(UserError, match="There is no agent"):
            agents.get(number)


def test_a_file_never_decides_what_is_imported(counter: Agent, tmp_path: Path) -> None:
    counter.save(tmp_path / "agent.safetensors")
    with pytest.raises(UserError, match="give the environment yourself"):
        Agents(find_agents(tmp_path / "agent.safetensors")).get(0)


def test_the_distribution_is_what_actions_are_drawn_from(lunarlander: Agent) -> None:
    observation, command = np.zeros(8, np.float32), Command(200.0, 300.0)
    likely = lunarlander.distribution(observation, command)
    drawn = lunarlander.act(np.zeros((4000, 8), np.float32), command, rng=0)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, likely, atol=0.03)
    follower = lunarlander.follow(command, seed=2)
    alone = lunarlander.follow(command, seed=2)
    for _ in range(5):
        np.testing.assert_array_equal(
            follower.distribution(observation), lunarlander.distribution(observation, follower.command)
        )
        assert follower.act(observation) == alone.act(observation)  # asking changes nothing
        follower.receive(1.0)
        alone.receive(1.0)


def test_a_stacking_agent_looks_ahead_without_taking_note() -> None:
    agent = untrained(lambda: gym.make("CartPole-v1"), env_id="CartPole-v1", frame_stack=3)
    observations = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    follower, alone = agent.follow(Command(9, 9)), agent.follow(Command(9, 9))
    for observation in observations:
        follower.distribution(observation)
        assert follower.act(observation) == alone.act(observation)
    # Taken note of are the six of `act`: the newest two of them, and one that comes next.
    stacked = np.concatenate([observations[4:], observations[:1]])
    ahead = follower.distribution(observations[0])
    np.testing.assert_allclose(ahead, agent.distribution(stacked, Command(9, 9)), rtol=1e-6)

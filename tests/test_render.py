"""Commanded episodes as a video."""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probes import CountedReward, Probe, Step

import udrl
from udrl import Agent, Command, TrainingError, UserError
from udrl.captions import Captions, Moment
from udrl.cli import main
from udrl.render import play_episodes, record_video, work_without_screen
from udrl.video import write_video

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
Image = pytest.importorskip("PIL.Image")

TINY: dict[str, Any] = {
    "hidden_sizes": (8,),
    "batch_size": 8,
    "n_updates_per_iter": 2,
    "n_episodes_per_iter": 2,
    "n_warm_up_episodes": 4,
    "evaluation_interval": 0,
    "n_evaluation_episodes": 2,
    "env_steps": 60,
    "quiet": True,
}
ORDER = Command(30.0, 30.0)
CARTPOLE = functools.partial(gym.make, "CartPole-v1", render_mode="rgb_array")


class Drawn(CountedReward):
    """Eight steps of reward 0 or 1, in pictures of one color per step."""

    def __init__(self, render_mode: str | None = None, size: tuple[int, int] = (12, 16)) -> None:
        self.render_mode, self.size = render_mode, size

    def render(self) -> Any:
        return np.full((*self.size, 3), 20 * self.t, np.uint8)


class Broken(Drawn):
    def step(self, action: Any) -> Step:
        if self.t == 3:
            raise ValueError("out of balls")
        return super().step(action)


class Growing(Drawn):
    def render(self) -> Any:
        return np.zeros((12 + self.t, 16, 3), np.uint8)


class Gray(Drawn):
    def render(self) -> Any:
        return np.zeros((12, 16), np.uint8)


@pytest.fixture(scope="module")
def agent() -> Agent:
    return udrl.train("cartpole", **TINY)


@pytest.fixture(scope="module")
def counter() -> Agent:
    return udrl.train(environment=Drawn, **TINY)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "cartpole"
    udrl.train("cartpole", out=out, **TINY)
    return out


def video_of(path: Path) -> tuple[np.ndarray, float]:
    """The pictures [N, H, W, 3] of a video, and how many are shown per second."""
    if path.suffix == ".gif":
        with Image.open(path) as gif:
            pictures = []
            for i in range(gif.n_frames):
                gif.seek(i)
                pictures.append(np.asarray(gif.convert("RGB")))
            return np.stack(pictures), 1000 / gif.info["duration"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    about = re.search(r"Video: h264.*yuv420p.* (\d+)x(\d+).* ([\d.]+) fps", done.stderr.decode())
    assert about is not None
    pixels = np.frombuffer(done.stdout, np.uint8)
    return pixels.reshape(-1, int(about[2]), int(about[1]), 3), float(about[3])


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_video_has_a_picture_of_every_moment(agent: Agent, tmp_path: Path, suffix: str) -> None:
    recording = record_video(agent, tmp_path / f"episode{suffix}", ORDER)
    pictures, fps = video_of(recording.path)
    assert fps == recording.fps == 50  # CartPole's own
    assert len(pictures) == recording.evaluation.lengths[0] + 1 == recording.seconds * 50
    assert pictures.shape[1] > 400  # the strip is below CartPole's picture of 400 x 600
    assert pictures.shape[2] == 600
    changes = np.abs(np.diff(pictures.astype(int), axis=0)).max(axis=(2, 3))  # [N - 1, H]
    assert changes[:, :400].max() > 50  # something moves
    assert (changes[:, 400:].max(axis=1) > 50).all()  # and less is desired in every picture
    assert os.listdir(tmp_path) == [f"episode{suffix}"]


def test_what_is_recorded_is_what_evaluation_plays(agent: Agent, tmp_path: Path) -> None:
    evaluation = agent.evaluate(ORDER, episodes=3, seed=5)
    recorded = record_video(agent, tmp_path / "three.mp4", ORDER, seed=5, episodes=3).evaluation
    np.testing.assert_array_equal(recorded.returns, evaluation.returns)
    np.testing.assert_array_equal(recorded.lengths, evaluation.lengths)
    assert len(video_of(tmp_path / "three.mp4")[0]) == evaluation.lengths.sum() + 3


def test_moments_tell_what_remains(counter: Agent) -> None:
    moments = list(play_episodes(counter, Drawn("rgb_array"), Command(5.0, 8.0), episodes=2))
    assert [moment.t for moment in moments] == [*range(9), *range(9)]
    assert [moment.episode for moment in moments] == [0] * 9 + [1] * 9
    assert [moment.is_last for moment in moments] == ([False] * 8 + [True]) * 2
    for moment in moments:
        assert moment.asked == Command(5.0, 8.0)
        assert moment.command == Command(5.0 - moment.obtained, 8.0 - moment.t)
        assert (moment.picture == 20 * moment.t).all()


def test_a_sparse_reward_arrives_at_the_last_step_and_limits_hold() -> None:
    settings = TINY | {"sparse": True, "max_episode_steps": 6}
    agent = udrl.train(environment=Drawn, **settings)
    *before, last = play_episodes(agent, Drawn("rgb_array"), Command(6.0, 6.0))
    assert [moment.obtained for moment in before] == [0.0] * 6
    assert last.t == 6
    assert last.is_last
    assert last.obtained == agent.evaluate(Command(6.0, 6.0), 1, environment=Drawn).returns[0]


@pytest.mark.parametrize(
    ("height", "width", "scale", "picture"),
    [
        (120, 160, None, (360, 480)),
        (400, 600, None, (400, 600)),
        (12, 16, 1, (12, 16)),
        (81, 33, 3, (243, 99)),
        (501, 501, None, (501, 501)),
    ],
)
def test_small_pictures_grow_and_all_become_even(
    height: int, width: int, scale: int | None, picture: tuple[int, int]
) -> None:
    pixels = np.random.default_rng(0).integers(100, 256, (height, width, 3), np.uint8)
    drawn = Captions(height, width, scale).draw(Moment(pixels, ORDER, ORDER, 0.0, 0, False))
    assert drawn.shape[0] % 2 == drawn.shape[1] % 2 == 0
    assert drawn.shape[0] > picture[0] + 20
    factor, left = picture[0] // height, (drawn.shape[1] - picture[1]) // 2
    inside = drawn[: picture[0], left : left + picture[1]]
    np.testing.assert_array_equal(inside, pixels.repeat(factor, axis=0).repeat(factor, axis=1))


@pytest.mark.parametrize(("width", "scale"), [(160, 3), (480, 1), (600, 1)])
def test_columns_of_the_strip_do_not_touch(width: int, scale: int) -> None:
    captions = Captions(200, width, scale)
    longest = Command(-9999.9, 1000.0)
    moment = Moment(np.zeros((200, width, 3), np.uint8), longest, longest, -9999.9, 1000, False, episode=99)
    strip = captions.draw(moment)[200 * scale :].astype(int)
    empty = (np.ptp(strip, axis=0) < 30).all(axis=1)  # columns of pixels without writing
    assert empty[-4:].all()
    third = captions.width // 3
    assert all(empty[i * third - third // 8 : i * third + third // 8].any() for i in (1, 2))


def test_speed_and_size_are_settings(counter: Agent, tmp_path: Path) -> None:
    recording = record_video(counter, tmp_path / "a.mp4", environment=Drawn, fps=10, scale=30)
    pictures, fps = video_of(recording.path)
    assert (len(pictures), fps, recording.seconds) == (9, 10, 0.9)
    assert pictures.shape[2] == 480
    assert record_video(counter, tmp_path / "b.mp4", environment=Drawn).fps == 30  # it does not say


def test_a_gif_is_never_faster_than_browsers_show(counter: Agent, tmp_path: Path) -> None:
    record_video(counter, tmp_path / "a.gif", environment=Drawn, fps=90)
    pictures, fps = video_of(tmp_path / "a.gif")
    assert fps == 50
    assert len(pictures) in (5, 6)


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: Drawn(), UserError, "render_mode='rgb_array'"),
        (functools.partial(CountedReward), UserError, "render_mode='rgb_array'"),
        (Gray, UserError, "draws no pictures"),
        (Growing, UserError, "change their size"),
        (Broken, TrainingError, "out of balls .*step 3"),
        (functools.partial(Drawn, size=(5000, 10)), UserError, "too large"),
        (functools.partial(gym.make, "CartPole-v1", render_mode="rgb_array"), UserError, "not those the agent"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(
    counter: Agent, tmp_path: Path, make: Callable[[], Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        record_video(counter, tmp_path / "episode.mp4", environment=make)
    assert not list(tmp_path.iterdir())


def test_an_environment_that_has_no_pictures_says_so(counter: Agent, tmp_path: Path) -> None:
    class Undrawn(Probe):
        n_steps, render_mode = 8, "rgb_array"

    with pytest.raises(UserError, match="cannot draw itself"):
        record_video(counter, tmp_path / "episode.mp4", environment=Undrawn)


def test_stopping_leaves_an_earlier_video_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "episode.mp4"
    path.write_text("earlier")

    def pictures() -> Any:
        yield np.zeros((16, 16, 3), np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(path, pictures(), 30)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_an_encoder_that_fails_is_one_sentence(tmp_path: Path) -> None:
    odd = [np.zeros((15, 15, 3), np.uint8)] * 100  # H.264 takes even sizes only
    with pytest.raises(TrainingError, match="cannot be written") as raised:
        write_video(tmp_path / "episode.mp4", odd, 30)
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_file_never_decides_what_is_imported(counter: Agent, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give the environment yourself"):
        record_video(counter, tmp_path / "episode.mp4")


def test_the_command_writes_into_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(run), "--desired-return", "20", "--desired-horizon", "25"]) == 0
    shown = capsys.readouterr().out
    n = len(video_of(run / "episode.mp4")[0]) - 1
    assert f"episode.mp4, {(n + 1) / 50:.1f} seconds: desired 20.0 in 25 steps, obtained {n}.0 in {n} steps" in shown


def test_an_agent_of_a_factory_is_rendered_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = udrl.train(environment=Drawn, **TINY)
    counted.save(tmp_path / "agent.safetensors")
    arguments = ["render", str(tmp_path / "agent.safetensors"), "--env-id", f"{__name__}:Drawn", "--episodes", "2"]
    assert main(arguments) == 0
    assert len(video_of(tmp_path / "episode.mp4")[0]) == 18


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "episode.avi"], "has to end in .mp4 or .gif"),
        (["--out", "episode"], "has to end in .mp4 or .gif"),
        (["--episodes", "0"], "at least 1"),
        (["--fps", "0"], "fps must be"),
        (["--fps", "nan"], "fps must be"),
        (["--scale", "0"], "scale at least 1"),
        (["--scale", "1000"], "too large"),
        (["--env-id", "MountainCar-v0"], "not those the agent"),
        (["--outt", "a.mp4"], "Did you mean '--out'"),
    ],
)
def test_a_mistake_is_one_sentence(
    run: Path,
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["render", str(run), *arguments]) == 2
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["render", str(run)]) == 2
    assert "udrl[render]" in capsys.readouterr().err


def test_nothing_is_set_that_the_user_has_set_or_a_screen_makes_needless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: "libOSMesa.so" if name == "OSMesa" else None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL", "SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        monkeypatch.setenv(name, "kept")  # so that it is put back
        monkeypatch.delenv(name)
    with monkeypatch.context() as screen:
        screen.setenv("DISPLAY", ":0")
        work_without_screen()
        assert "MUJOCO_GL" not in os.environ
    work_without_screen()
    assert (os.environ["MUJOCO_GL"], os.environ["SDL_VIDEODRIVER"]) == ("osmesa", "dummy")
    monkeypatch.setenv("MUJOCO_GL", "mine")
    work_without_screen()
    assert os.environ["MUJOCO_GL"] == "mine"


def test_mujoco_draws_without_a_screen(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    udrl.train("inverted-double-pendulum", out=tmp_path / "run", **TINY)
    # A process of its own: which OpenGL is taken is decided when MuJoCo is imported.
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-m", "udrl.cli", "render", str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "install libegl1" in done.stderr:
        pytest.skip("there is no OpenGL here")
    assert done.returncode == 0, done.stderr
    assert video_of(tmp_path / "run" / "episode.mp4")[0].std() > 10


def test_mujoco_without_opengl_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    udrl.train("inverted-double-pendulum", out=tmp_path / "run", **TINY)
    command = [sys.executable, "-m", "udrl.cli", "render", str(tmp_path / "run")]
    done = subprocess.run(command, env={**os.environ, "MUJOCO_GL": "nonsense"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "install libegl1" in done.stderr
    assert done.stderr.count("\n") == 1

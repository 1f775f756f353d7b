"""The Python lines that reproduce an episode seen on the page."""

from pathlib import Path

from udrl.agent import Agent
from udrl.command import Command


def python_lines(
    agent: Agent, path: Path, env_id: str | None, draws: bool, orders: dict[int, Command], seed: int
) -> str:
    """A program that plays the same episode. `env_id` is the environment that the user named, if any."""
    config = agent.config
    name, mode = env_id or config.env_id, ', render_mode="rgb_array"' if draws else ""
    module, _, function = name.rpartition(":")
    is_factory = env_id is not None and bool(module) and not function.rpartition("-v")[2].isdigit()
    make = f"{function}()" if is_factory else f"gym.make({name!r}{mode})"
    steps = config.max_episode_steps
    reward = "float(reward)"
    lines = [
        f"from {module} import {function}" if is_factory else "import gymnasium as gym",
        "import udrl",
        "",
        f"agent = udrl.Agent.load({str(path)!r})",
        f"environment = {make}",
        f"orders = {_orders(orders)}  # from which step on: desired return, desired horizon",
        "",
        f"observation, _ = environment.reset(seed={seed})",
        f"follower = agent.follow(udrl.Command(*orders[0]), seed={seed})",
        "t, total, is_over = 0, 0.0, False" if config.sparse else "t, is_over = 0, False",
        "while not is_over:",
        "    if t in orders:",
        "        follower.command = udrl.Command(*orders[t])",
        "    observation, reward, terminated, truncated, _ = environment.step(follower.act(observation))",
        "    t += 1",
        f"    is_over = terminated or truncated{f' or t == {steps}' if steps else ''}",
    ]
    if config.sparse:
        lines.append("    total += float(reward)")
        reward = "total if is_over else 0.0"
    lines += [
        f"    follower.receive({reward})",
        'print(f"obtained {follower.obtained:.1f} in {t} steps")',
    ]
    return "\n".join(lines) + "\n"


def _orders(orders: dict[int, Command]) -> str:
    pairs = (f"{t}: ({float(c.desired_return)!r}, {float(c.desired_horizon)!r})" for t, c in sorted(orders.items()))
    return f"{{{', '.join(pairs)}}}"

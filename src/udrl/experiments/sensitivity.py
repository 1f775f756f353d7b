"""Command sensitivity: obtained against desired return (Section "Different Returns with a Single Agent")."""

import csv
import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from udrl import __version__
from udrl.agent import Agent
from udrl.checkpoint import whole_file, write_json
from udrl.command import Command
from udrl.engines import EnvironmentFactory
from udrl.environments import make_environments
from udrl.errors import UserError
from udrl.evaluation import evaluate, evaluation_batch
from udrl.rollout import Collector, Rollouts, parameters_of
from udrl.run_folder import CONFIG, METRICS, read_json, read_metrics
from udrl.workers import Workers

SENSITIVITY = "sensitivity.json"
KIND = "sensitivity"
"""What the file says that it is."""


@dataclasses.dataclass(frozen=True)
class Order:
    """One command, and what it obtained."""

    desired_return: float
    desired_horizon: float
    return_mean: float
    return_std: float
    return_min: float
    return_max: float
    length_mean: float
    episodes: int


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """How an agent answers a range of orders."""

    task: str | None
    env_id: str
    seed: int
    """The agent's, of training."""
    env_steps: int
    """How long it was trained."""
    horizon_rule: str
    orders: tuple[Order, ...]

    @property
    def desired(self) -> np.ndarray:  # [n]
        return np.array([order.desired_return for order in self.orders])

    @property
    def obtained(self) -> np.ndarray:  # [n]
        return np.array([order.return_mean for order in self.orders])

    @property
    def correlation(self) -> float | None:
        """Pearson's; None where an agent answers all orders alike."""
        if len(self.orders) < 2 or np.ptp(self.obtained) == 0:
            return None
        return float(np.corrcoef(self.desired, self.obtained)[0, 1])

    @property
    def slope(self) -> float | None:
        """Of the least-squares line: 1 for an agent that obeys, 0 for one that does not listen."""
        return float(np.polyfit(self.desired, self.obtained, 1)[0]) if len(self.orders) > 1 else None

    @property
    def mean_absolute_error(self) -> float:
        return float(np.abs(self.obtained - self.desired).mean())

    @property
    def mean_relative_error(self) -> float:
        """The mean error, by the mean size of an order: some orders may be for a return of zero."""
        return self.mean_absolute_error / max(float(np.abs(self.desired).mean()), 1e-12)

    def summary(self) -> dict[str, Any]:
        """As a file has it."""
        return {
            "udrl": __version__,
            "kind": KIND,
            **{name: value for name, value in dataclasses.asdict(self).items() if name != "orders"},
            "correlation": self.correlation,
            "slope": self.slope,
            "mean_absolute_error": self.mean_absolute_error,
            "mean_relative_error": self.mean_relative_error,
            "orders": [dataclasses.asdict(order) for order in self.orders],
        }

    def save(self, folder: Path) -> None:
        """Write sensitivity.json, and the orders as sensitivity.csv."""
        write_json(folder / SENSITIVITY, self.summary())
        table = io.StringIO()
        writer = csv.DictWriter(table, [field.name for field in dataclasses.fields(Order)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(dataclasses.asdict(order) for order in self.orders)
        with whole_file(folder / "sensitivity.csv") as temporary:
            temporary.write_text(table.getvalue())


def load_sensitivity(file: Path) -> Sensitivity:
    """What `Sensitivity.save` wrote."""
    document = read_json(file)
    try:
        orders = tuple(Order(**order) for order in document["orders"])
        names = [field.name for field in dataclasses.fields(Sensitivity) if field.name != "orders"]
        return Sensitivity(**{name: document[name] for name in names}, orders=orders)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{file} is not what udrl sensitivity writes ({error}).") from None


def load_commanded(run: Path, best: bool = False) -> Agent:
    """The agent of a run folder or file; the agents of other algorithms take no commands."""
    if (run / CONFIG).exists():
        algorithm = read_json(run / CONFIG).get("algorithm", "udrl")
        if algorithm != "udrl":
            raise UserError(f"{run} was trained by {algorithm}, whose agents take no commands: give a run of udrl.")
    return Agent.load(run, best=best)


def default_range(agent: Agent, run: Path | None = None) -> tuple[float, float]:
    """From what random actions obtained, if the run says so, to what the best episodes obtained (the paper's M).

    The lowest return ever obtained would be a bad start: a single episode of a lifetime.
    """
    low, high = agent.experience.return_min, float(agent.evaluation_command.desired_return)
    if run is not None and (run / METRICS).is_file():
        warm_up = next((line for line in read_metrics(run) if line.get("kind") == "warm_up"), {})
        low = warm_up.get("warm_up/return_mean", low)
    if agent.config.max_return is not None:
        high = min(high, agent.config.max_return)
    return low, high


def horizon_rule(agent: Agent) -> tuple[str, float | None]:
    """How the desired horizon follows from the return, in words and as a factor (Section "Sensitivity to Initial
    Commands"); None: the horizon at the end of training."""
    if agent.config.horizon_is_return:
        return "the desired return", 1.0
    if agent.config.env_id.startswith("InvertedDoublePendulum"):  # ten per step, but for small penalties
        return "a tenth of the desired return", 0.1
    return "that of the end of training", None


def orders_between(agent: Agent, low: float, high: float, n: int) -> list[Command]:
    """`n` orders, evenly spaced, with the paper's horizons."""
    if n < 1 or not np.isfinite([low, high]).all() or low > high or (low == high and n > 1):
        raise UserError(f"There is no range of {n} orders from {low:g} to {high:g}: give --low and a larger --high.")
    desired = np.linspace(low, high, n)
    if agent.config.horizon_is_return:
        desired = np.unique(np.round(desired))
    factor = horizon_rule(agent)[1]
    usual = float(agent.evaluation_command.desired_horizon)
    return [Command(float(one), usual if factor is None else max(factor * float(one), 1.0)) for one in desired]


def measure_sensitivity(
    agent: Agent,
    low: float | None = None,
    high: float | None = None,
    orders: int = 20,
    episodes: int = 100,
    seed: int = 0,
    threads: int = 1,
    environment: EnvironmentFactory | None = None,
    run: Path | None = None,
    quiet: bool = True,
) -> Sensitivity:
    """Give an agent each of several orders in many episodes, the same ones as `agent.evaluate(command, seed=seed)`.

    Without `low` and `high` the range is `default_range`'s, of the agent and of its `run`.
    """
    usual_low, usual_high = default_range(agent, run)
    low, high = usual_low if low is None else low, usual_high if high is None else high
    commands = orders_between(agent, low, high, orders)
    collector = _collector(agent, threads, environment)
    try:
        measured = tuple(_measure(agent, collector, commands, episodes, seed, quiet))
    finally:
        collector.close()
    rule = horizon_rule(agent)[0]
    return Sensitivity(agent.task, agent.config.env_id, agent.config.seed, agent.experience.env_steps, rule, measured)


def _measure(
    agent: Agent, collector: Collector, commands: list[Command], episodes: int, seed: int, quiet: bool
) -> Iterator[Order]:
    console = Console(stderr=True)
    name = f"orders to {agent.task or agent.config.env_id} seed {agent.config.seed}"
    for command in track(commands, name, console=console, transient=True, disable=quiet):
        batch = evaluation_batch(command, agent.config, agent.actions.is_discrete, seed, 0, episodes)
        yield Order(**evaluate(collector, parameters_of(agent.behavior), batch).summary())


def _collector(agent: Agent, threads: int, environment: EnvironmentFactory | None) -> Collector:
    """Environments that are made once for all orders."""
    agent.check_may_make(environment)
    config = dataclasses.replace(agent.config, engine="auto")
    environments = make_environments(config, environment)
    try:
        agent.check_spaces(environments.observations.space, environments.actions.space)
    except UserError:
        environments.close()
        raise
    if threads == 1:
        return Rollouts(environments, agent.behavior)
    environments.close()
    return Workers(threads).equip(config, agent.behavior, environment)

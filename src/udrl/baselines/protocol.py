"""What happens around the library's loop: metrics, evaluations past each multiple of the interval, stopping."""

import math
import time

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from udrl.baselines.copies import Ended
from udrl.baselines.evaluation import BaselineCollector, evaluate_baseline
from udrl.baselines.settings import Baseline
from udrl.config import RunOptions
from udrl.errors import TrainingError
from udrl.loggers import Log
from udrl.progress import Progress
from udrl.run import Stopped
from udrl.run_folder import Metrics

LOG_STEPS = 5_000
"""Environment steps between two lines of metrics: about as many as an iteration of UDRL takes."""
SHOW_SECONDS = 0.25


class Protocol(BaseCallback):
    """The library calls it at every step and before every rollout, when what came before has been learned from."""

    def __init__(
        self,
        settings: Baseline,
        options: RunOptions,
        collector: BaselineCollector,
        ended: list[Ended],
        progress: Progress,
        logs: list[Log],
    ) -> None:
        super().__init__()
        self.settings, self.options, self.collector = settings, options, collector
        self.ended, self.progress, self.logs = ended, progress, logs
        self.stopped = Stopped()
        self.iteration = self.logged_at = 0
        self.evaluated_at = 0
        """The last multiple of evaluation_interval that an evaluation was for."""
        self.n_evaluations = self.last_evaluation = 0
        self.best_return = -math.inf
        self.began = self.shown_at = 0.0

    @property
    def env_steps(self) -> int:
        return self.model.num_timesteps

    @property
    def is_solved(self) -> bool:
        solved = self.options.solved_return
        return self.options.stop_when_solved and solved is not None and self.best_return >= solved

    def finish(self) -> str:
        """The last line and the last evaluation; returns how the run ended."""
        if self.is_solved:
            return "solved"
        if self.logged_at < self.env_steps:
            self._log_iteration()
        if self.last_evaluation < self.env_steps:
            self._evaluate()
        return "finished"

    def check_finite(self) -> None:
        """Refuse to go on with a network that computes nothing any more."""
        if all(torch.isfinite(parameter).all() for parameter in self.model.policy.parameters()):
            return
        raise TrainingError(
            f"The network's weights are not finite after {self.env_steps:,} steps: try a lower learning rate."
        )

    def _on_training_start(self) -> None:
        self.began = time.perf_counter()
        self.progress.begin(0)

    def _on_rollout_start(self) -> None:
        if self.env_steps - self.logged_at >= LOG_STEPS:
            self._log_iteration()
        interval = self.settings.evaluation_interval
        if interval and self.env_steps // interval * interval > self.evaluated_at:
            self._evaluate()

    def _on_step(self) -> bool:
        now = time.monotonic()
        if now - self.shown_at >= SHOW_SECONDS:
            self.shown_at = now
            self.progress.iteration(self.env_steps)
        return self.stopped.number is None and not self.is_solved

    def _log_iteration(self) -> None:
        self.check_finite()
        self.iteration, self.logged_at = self.iteration + 1, self.env_steps
        learned = {
            name: float(value)
            for name, value in self.model.logger.name_to_value.items()
            if name.startswith("train/") and isinstance(value, int | float | np.number) and math.isfinite(value)
        }
        self._log({"kind": "iteration", **self._now(), **learned, **self._explored(), "time/total": self._seconds()})

    def _explored(self) -> Metrics:
        """Of the episodes that ended since the last line."""
        if not self.ended:
            return {}
        returns, lengths = np.array(self.ended).T
        self.ended.clear()
        return {
            "explore/return_mean": float(returns.mean()),
            "explore/return_max": float(returns.max()),
            "explore/length_mean": float(lengths.mean()),
            "explore/episodes": len(returns),
        }

    def _evaluate(self) -> None:
        began, interval = time.perf_counter(), self.settings.evaluation_interval
        self.check_finite()
        self.n_evaluations += 1
        self.evaluated_at = self.env_steps // interval * interval if interval else 0
        self.last_evaluation = self.env_steps
        obtained = evaluate_baseline(self.collector, self.settings, self.n_evaluations)
        self.best_return = max(self.best_return, obtained["eval/return_mean"])
        seconds = time.perf_counter() - began
        metrics: Metrics = {
            "kind": "evaluation",
            **self._now(),
            "eval/at": self.evaluated_at,
            **obtained,
            "time/evaluate": seconds,
            "time/total": self._seconds(),
        }
        self._log(metrics)
        self.progress.evaluation(metrics)

    def _now(self) -> Metrics:
        return {"iteration": self.iteration, "env_steps": self.env_steps}

    def _seconds(self) -> float:
        return time.perf_counter() - self.began

    def _log(self, metrics: Metrics) -> None:
        for log in self.logs:
            log(metrics)

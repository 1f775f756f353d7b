"""Agents that follow commands, trained by Upside-Down Reinforcement Learning.

agent = udrl.train("lunarlander", seed=1)
action = agent.act(observation, udrl.Command(desired_return=200, desired_horizon=300))
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from udrl.agent import Agent, Experience
    from udrl.api import train
    from udrl.behavior import BehaviorFunction, Network, TabularBehavior
    from udrl.command import Command
    from udrl.config import Config, RunOptions
    from udrl.demonstrations import load_episodes, record_episode, save_episodes
    from udrl.episode import Episode
    from udrl.errors import TrainingError, UserError
    from udrl.evaluation import Evaluation
    from udrl.experiments.sensitivity import Sensitivity, load_sensitivity, measure_sensitivity
    from udrl.exploration import Aim, ExplorationRule, aim_at_best
    from udrl.follower import Follower
    from udrl.render import record_video
    from udrl.replay import Replay
    from udrl.run import Report
    from udrl.tasks import TASKS, Task

# Names are imported when they are first used: `udrl --help` does not wait for JAX.
_HOMES = {
    "Agent": "agent",
    "Aim": "exploration",
    "BehaviorFunction": "behavior",
    "Command": "command",
    "Config": "config",
    "Episode": "episode",
    "Evaluation": "evaluation",
    "Experience": "agent",
    "ExplorationRule": "exploration",
    "Follower": "follower",
    "Network": "behavior",
    "Replay": "replay",
    "Report": "run",
    "RunOptions": "config",
    "Sensitivity": "experiments.sensitivity",
    "TASKS": "tasks",
    "TabularBehavior": "behavior",
    "Task": "tasks",
    "TrainingError": "errors",
    "UserError": "errors",
    "aim_at_best": "exploration",
    "load_episodes": "demonstrations",
    "load_sensitivity": "experiments.sensitivity",
    "measure_sensitivity": "experiments.sensitivity",
    "record_episode": "demonstrations",
    "record_video": "render",
    "save_episodes": "demonstrations",
    "train": "api",
}

__all__ = [
    "TASKS",
    "Agent",
    "Aim",
    "BehaviorFunction",
    "Command",
    "Config",
    "Episode",
    "Evaluation",
    "Experience",
    "ExplorationRule",
    "Follower",
    "Network",
    "Replay",
    "Report",
    "RunOptions",
    "Sensitivity",
    "TabularBehavior",
    "Task",
    "TrainingError",
    "UserError",
    "aim_at_best",
    "load_episodes",
    "load_sensitivity",
    "measure_sensitivity",
    "record_episode",
    "record_video",
    "save_episodes",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'udrl' has no attribute '{name}'")
    return getattr(importlib.import_module(f"udrl.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

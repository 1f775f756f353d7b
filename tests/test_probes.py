"""Whole training on probe environments: each isolates one ability."""

import numpy as np
import pytest
from probes import ContinuousAction, CountedReward, DelayedReward, Probe, RewardIsAction

import udrl

SMALL = {
    "hidden_sizes": (32, 32),
    "batch_size": 64,
    "n_updates_per_iter": 50,
    "n_episodes_per_iter": 10,
    "n_warm_up_episodes": 200,
    "replay_size": 400,
    "last_few": 20,
    "return_scale": 1.0,
    "horizon_scale": 0.2,
    "evaluation_interval": 0,
    "quiet": True,
}


def obtained(agent: udrl.Agent, probe: type[Probe], desired_return: float) -> np.ndarray:
    command = udrl.Command(desired_return, probe.n_steps)
    return agent.evaluate(command, episodes=50, environment=probe).returns


@pytest.mark.parametrize("fast_net_option", ["bilinear", "gated"])
def test_reward_is_action(fast_net_option: str) -> None:
    agent = udrl.train(environment=RewardIsAction, env_steps=300, fast_net_option=fast_net_option, **SMALL)
    assert obtained(agent, RewardIsAction, 0.0).mean() < 0.1
    assert obtained(agent, RewardIsAction, 1.0).mean() > 0.9


def test_delayed_reward() -> None:
    agent = udrl.train(environment=DelayedReward, env_steps=3_000, **SMALL)
    assert obtained(agent, DelayedReward, 0.0).mean() < 0.1
    assert obtained(agent, DelayedReward, 1.0).mean() > 0.9


def test_actions_follow_the_command_as_it_shrinks() -> None:
    agent = udrl.train(environment=CountedReward, env_steps=4_000, **SMALL)
    for desired_return in (2.0, 4.0, 6.0, 8.0):
        assert abs(obtained(agent, CountedReward, desired_return).mean() - desired_return) < 0.5


def test_continuous_action() -> None:
    agent = udrl.train(environment=ContinuousAction, env_steps=700, **{**SMALL, "return_scale": 0.3})
    for desired_return in (-2.0, 0.0, 2.0):
        assert np.abs(obtained(agent, ContinuousAction, desired_return) - desired_return).max() < 0.5

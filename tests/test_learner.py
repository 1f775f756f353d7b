"""Learning: the loss and Adam by hand, phases, and the tabular behavior function as the oracle."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from scipy import stats

from udrl.actions import Normal
from udrl.behavior import BehaviorFunction, CommandInput, TabularBehavior, make_behavior
from udrl.config import Config
from udrl.episode import Episode
from udrl.learner import Learner, loss
from udrl.replay import Replay
from udrl.segments import Examples, sample_examples
from udrl.spaces import Actions, Observations

SMALL = Config(hidden_sizes=(4, 3), return_scale=0.1, horizon_scale=0.1)


class Constant(eqx.Module):
    """Gives the same outputs whatever it is asked."""

    outputs: jax.Array

    def __call__(self, observation: Any, command: Any) -> Any:
        return self.outputs


class OneWeight(eqx.Module):
    """Gives the logits (w o, 0)."""

    w: jax.Array

    def __call__(self, observation: Any, command: Any) -> Any:
        return jnp.stack([self.w * observation[0], jnp.float32(0.0)])


def behavior_with(network: Any, n_actions: int = 2) -> BehaviorFunction:
    return make_behavior(
        Observations(Box(-9, 9, (1,))), Actions(Discrete(n_actions)), SMALL, jax.random.key(0), network
    )


def examples_of(observations: Any, actions: Any) -> Examples:
    """Examples [U, B] that all command the same."""
    o = np.array(observations, np.float32)[..., None]
    return Examples(o, np.ones((*o.shape[:-1], 2), np.float32), np.array(actions, np.int32)[..., None])


def small_behavior() -> BehaviorFunction:
    return make_behavior(Observations(Box(-9, 9, (2,))), Actions(Discrete(3)), SMALL, jax.random.key(3))


def random_examples(n_updates: int, batch_size: int) -> Examples:
    rng = np.random.default_rng(0)
    shape = (n_updates, batch_size)
    commands = rng.normal(5, 3, (*shape, 2)).astype(np.float32)
    return Examples(
        rng.normal(size=(*shape, 2)).astype(np.float32), commands, rng.integers(3, size=(*shape, 1)).astype(np.int32)
    )


def parameters_of(learner: Learner, state: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(learner.behavior(state))]


def test_the_loss_is_the_mean_negative_log_probability():
    behavior = behavior_with(Constant(jnp.array([0.0, math.log(3.0)])))
    batch = Examples(*(field[0] for field in examples_of([[1, 2, 3, 4]], [[0, 1, 1, 1]])))
    expected = -(math.log(0.25) + 3 * math.log(0.75)) / 4
    assert float(loss(behavior, batch)) == pytest.approx(expected, rel=1e-5)


def test_the_loss_of_continuous_actions_is_the_mean_negative_log_density():
    outputs = [0.4, -0.2]
    behavior = BehaviorFunction(CommandInput(1.0, 1.0, None, True), Constant(jnp.array(outputs)), Normal(1))
    actions = np.array([[0.1], [-1.5]], np.float32)
    std = math.exp(8.0 / (1.0 + math.exp(0.2)) - 6.0)
    expected = -stats.norm.logpdf(actions, math.tanh(0.4), std).mean()
    batch = Examples(np.zeros((2, 1), np.float32), np.ones((2, 2), np.float32), actions)
    assert float(loss(behavior, batch)) == pytest.approx(expected, rel=1e-4)


def test_updates_are_adams_by_hand():
    learner = Learner(behavior_with(OneWeight(jnp.array(0.5))), learning_rate=0.1)
    xs = [1.0, 2.0, -0.5]
    state, losses = learner.train(learner.initial_state(), examples_of([[x] for x in xs], [[0], [0], [0]]))
    w, m, v, expected = 0.5, 0.0, 0.0, []
    for t, x in enumerate(xs, 1):
        expected.append(math.log1p(math.exp(-w * x)))
        gradient = -x / (1.0 + math.exp(w * x))
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w -= 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(parameters_of(learner, state), [w], rtol=1e-4)


def test_the_gradient_is_of_the_mean_over_the_batch():
    one = Learner(behavior_with(OneWeight(jnp.array(0.0))), 0.1)
    _, losses = one.train(one.initial_state(), examples_of([[1.0, -1.0, -1.0]] * 2, [[0, 0, 0]] * 2))
    # At w = 0 the two examples of -1 outvote the one of 1: w falls by the learning rate.
    after = (math.log1p(math.exp(0.1)) + 2 * math.log1p(math.exp(-0.1))) / 3
    np.testing.assert_allclose(losses, [math.log(2.0), after], rtol=1e-5)


def test_a_phase_is_as_many_single_updates():
    examples = random_examples(4, 8)
    whole, single = Learner(small_behavior(), 0.01), Learner(small_behavior(), 0.01)
    state, losses = whole.train(whole.initial_state(), examples)
    step, single_losses = single.initial_state(), []
    for u in range(4):
        step, value = single.train(step, Examples(*(field[u : u + 1] for field in examples)))
        single_losses.append(value[0])
    np.testing.assert_allclose(losses, single_losses, rtol=1e-5)
    for a, b in zip(parameters_of(whole, state), parameters_of(single, step), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_every_parameter_learns():
    learner = Learner(small_behavior(), 0.01)
    before = [leaf.copy() for leaf in parameters_of(learner, learner.initial_state())]
    state, _ = learner.train(learner.initial_state(), random_examples(3, 8))
    assert all((a != b).any() for a, b in zip(before, parameters_of(learner, state), strict=True))


def layered_trajectories(n: int, horizon: int) -> list[list[tuple[int, int, float]]]:
    """Random walks through layers: the state is the step, and what an action earns turns around at each."""
    actions = np.random.default_rng(1).integers(2, size=(n, horizon))
    return [[(t, int(a), float(a if t % 2 == 0 else 1 - a)) for t, a in enumerate(row)] for row in actions]


def as_episode(trajectory: list[tuple[int, int, float]]) -> Episode:
    states, actions, rewards = zip(*trajectory, strict=True)
    return Episode(np.eye(3, dtype=np.float32)[list(states)], np.array(actions, np.int32)[:, None], np.array(rewards))


def test_learning_finds_the_tabular_behavior_function():
    trajectories = layered_trajectories(12, 3)
    oracle = TabularBehavior(trajectories)
    replay = Replay(12)
    replay.add([as_episode(trajectory) for trajectory in trajectories])
    phase = {"n_updates_per_iter": 1200, "batch_size": 128, "segments": "any"}
    config = Config(hidden_sizes=(32, 32), return_scale=1.0, horizon_scale=1.0, **phase)
    learned = make_behavior(Observations(Box(0, 1, (3,))), Actions(Discrete(2)), config, jax.random.key(0))
    for learning_rate in (1e-2, 1e-3):
        learner = Learner(learned, learning_rate)
        (examples,) = sample_examples(replay, config, np.random.default_rng(2))
        state, _ = learner.train(learner.initial_state(), examples)
        learned = learner.behavior(state)
    uncertain = 0
    for s, d_r, d_h in oracle.commands():
        outputs = learned(jnp.eye(3)[s], jnp.array([d_r, d_h], jnp.float32))
        probability = oracle(1, s, d_r, d_h)
        uncertain += 0.2 < probability < 0.8
        assert float(jax.nn.softmax(outputs)[1]) == pytest.approx(probability, abs=0.05), (s, d_r, d_h)
    assert uncertain >= 3


def test_learning_finds_the_papers_table():
    rows = [(0, 2.0, 1, 0), (0, 1.0, 1, 1), (0, 1.0, 2, 0), (1, -1.0, 1, 2)]
    states, d_r, d_h, actions = (np.array(column) for column in zip(*rows, strict=True))
    examples = Examples(
        np.broadcast_to(np.eye(2, dtype=np.float32)[states], (600, 4, 2)),
        np.broadcast_to(np.stack([d_r, d_h], axis=1).astype(np.float32), (600, 4, 2)),
        np.broadcast_to(actions.astype(np.int32)[:, None], (600, 4, 1)),
    )
    config = Config(hidden_sizes=(16,), return_scale=1.0, horizon_scale=1.0)
    behavior = make_behavior(Observations(Box(0, 1, (2,))), Actions(Discrete(3)), config, jax.random.key(0))
    learner = Learner(behavior, 1e-2)
    state, losses = learner.train(learner.initial_state(), examples)
    assert losses[-1] < 0.05
    learned = learner.behavior(state)
    for s, desired_return, desired_horizon, action in rows:
        outputs = learned(jnp.eye(2)[s], jnp.array([desired_return, desired_horizon], jnp.float32))
        assert int(jnp.argmax(outputs)) == action

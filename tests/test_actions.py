"""Distributions over actions: densities, samples, modes, and random actions for the warm-up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from scipy import stats

from udrl.actions import Categorical, Normal, distribution_for
from udrl.spaces import Actions

LAST_NOISE = np.float32(0.99999994)  # the largest float32 below one


def logits(*probabilities: float) -> jax.Array:
    return jnp.log(jnp.array(probabilities, jnp.float32)) + 3.0


def sampled(distribution: Categorical | Normal, outputs: jax.Array, noise: np.ndarray) -> np.ndarray:
    return np.asarray(jax.vmap(lambda one: distribution.sample(outputs, one))(jnp.asarray(noise)))


def test_the_log_probability_of_a_choice_is_that_of_the_softmax():
    distribution = Categorical((3,))
    for action, probability in enumerate((0.2, 0.5, 0.3)):
        value = distribution.log_probability(logits(0.2, 0.5, 0.3), jnp.array([action]))
        assert float(value) == pytest.approx(np.log(probability), abs=1e-5)


def test_components_are_independent():
    distribution = Categorical((2, 3))
    outputs = jnp.concatenate([logits(0.25, 0.75), logits(0.5, 0.3, 0.2)])
    assert distribution.n_outputs == 5
    value = distribution.log_probability(outputs, jnp.array([1, 2]))
    assert float(value) == pytest.approx(np.log(0.75 * 0.2), abs=1e-5)
    np.testing.assert_array_equal(distribution.mode(outputs), [1, 0])


def test_huge_logits_give_finite_log_probabilities():
    value = Categorical((2,)).log_probability(jnp.array([1000.0, 0.0]), jnp.array([1]))
    assert float(value) == pytest.approx(-1000.0)


def test_evenly_spaced_noise_gives_each_choice_its_share_exactly():
    noise = ((np.arange(1000) + 0.5) / 1000).astype(np.float32)[:, None]
    choices = sampled(Categorical((3,)), logits(0.2, 0.5, 0.3), noise)
    np.testing.assert_array_equal(np.bincount(choices[:, 0], minlength=3), [200, 500, 300])


def test_drawn_noise_gives_independent_components_their_probabilities():
    distribution = Categorical((2, 3))
    outputs = jnp.concatenate([logits(0.25, 0.75), logits(0.5, 0.3, 0.2)])
    choices = sampled(distribution, outputs, distribution.draw_noise(np.random.default_rng(0), 20_000))
    counts = np.bincount(choices[:, 0] * 3 + choices[:, 1], minlength=6)
    expected = np.outer([0.25, 0.75], [0.5, 0.3, 0.2]).ravel() * 20_000
    assert stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize(
    ("outputs", "noise", "choice"),
    [
        ([0.0, 0.0, 0.0], 0.0, 0),
        ([0.0, 0.0, 0.0], LAST_NOISE, 2),
        ([-1e4, 0.0, 0.0], 0.0, 1),
        ([0.0] * 100, LAST_NOISE, 99),
        ([0.0], LAST_NOISE, 0),
        ([5.0], 0.0, 0),
    ],
)
def test_noise_at_its_limits_gives_a_choice_that_exists(outputs: list[float], noise: float, choice: int):
    distribution = Categorical((len(outputs),))
    np.testing.assert_array_equal(
        sampled(distribution, jnp.array(outputs), np.array([[noise]], np.float32)), [[choice]]
    )


def test_noise_of_choices_is_uniform_below_one():
    noise = Categorical((2, 2)).draw_noise(np.random.default_rng(1), 1000)
    assert (noise.shape, noise.dtype) == ((1000, 2), np.float32)
    assert noise.min() >= 0
    assert noise.max() < 1
    assert stats.kstest(noise.ravel(), "uniform").pvalue > 1e-3


def test_warm_up_choices_are_uniform_over_all_that_exist():
    noise = np.array([[0.0, 0.0], [0.49, 0.34], [0.51, 0.67], [LAST_NOISE, LAST_NOISE]], np.float32)
    choices = Categorical((2, 3)).draw_warm_up(noise)
    np.testing.assert_array_equal(choices, [[0, 0], [0, 1], [1, 2], [1, 2]])
    assert choices.dtype == np.int32


def test_outputs_of_zero_mean_the_middle_of_both_ranges():
    mean, log_std = Normal(2).mean_and_log_std(jnp.zeros(4))
    np.testing.assert_allclose(mean, [0.0, 0.0])
    np.testing.assert_allclose(log_std, [-2.0, -2.0])


def test_means_are_squashed_by_tanh_and_log_deviations_into_minus_six_to_two():
    mean, log_std = Normal(2).mean_and_log_std(jnp.array([0.5, -100.0, -1000.0, 1000.0]))
    np.testing.assert_allclose(mean, [np.tanh(0.5), -1.0], rtol=1e-6)
    np.testing.assert_allclose(log_std, [-6.0, 2.0])
    _, at_one = Normal(1).mean_and_log_std(jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(at_one, [8.0 / (1.0 + np.exp(-1.0)) - 6.0], rtol=1e-6)


def test_the_density_is_the_product_of_normal_densities():
    rng = np.random.default_rng(2)
    for _ in range(10):
        outputs, action = rng.normal(size=6).astype(np.float32), rng.normal(size=3).astype(np.float32)
        std = np.exp(8.0 / (1.0 + np.exp(-outputs[3:])) - 6.0)
        expected = stats.norm.logpdf(action, np.tanh(outputs[:3]), std).sum()
        value = Normal(3).log_probability(jnp.asarray(outputs), jnp.asarray(action))
        assert float(value) == pytest.approx(expected, rel=1e-4)


def test_a_sample_is_the_mean_and_the_noise_in_deviations_and_the_mode_is_the_mean():
    outputs = jnp.array([0.3, -0.7, 0.0, 1.0])
    mean, log_std = Normal(2).mean_and_log_std(outputs)
    noise = np.array([[1.0, -2.0]], np.float32)
    np.testing.assert_allclose(sampled(Normal(2), outputs, noise)[0], mean + np.exp(log_std) * noise[0], rtol=1e-6)
    np.testing.assert_array_equal(Normal(2).mode(outputs), mean)
    np.testing.assert_allclose(mean, np.tanh([0.3, -0.7]), rtol=1e-6)


def test_samples_are_not_clipped():
    assert sampled(Normal(1), jnp.array([5.0, 5.0]), np.array([[3.0]], np.float32))[0, 0] > 1


def test_noise_of_continuous_actions_is_standard_normal():
    noise = Normal(2).draw_noise(np.random.default_rng(3), 1000)
    assert (noise.shape, noise.dtype) == ((1000, 2), np.float32)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3


def test_warm_up_actions_have_the_papers_deviation_where_there_is_one():
    noise = np.array([[-2.0], [0.0], [1.0]], np.float32)
    np.testing.assert_allclose(Normal(1, warm_up_std=0.3).draw_warm_up(noise), [[-0.6], [0.0], [0.3]], rtol=1e-6)


def test_warm_up_actions_are_uniform_in_the_box_else():
    by_hand = Normal(1).draw_warm_up(np.array([[-1.0], [0.0], [1.0]], np.float32))
    np.testing.assert_allclose(by_hand, [[-0.6826895], [0.0], [0.6826895]], rtol=1e-5)
    noise = Normal(1).draw_noise(np.random.default_rng(4), 5000)
    uniform = Normal(1).draw_warm_up(noise)
    assert uniform.dtype == np.float32
    assert stats.kstest(uniform.ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3


def test_the_distribution_follows_the_action_space():
    assert distribution_for(Actions(Discrete(4))) == Categorical((4,))
    assert distribution_for(Actions(MultiDiscrete([2, 3]))) == Categorical((2, 3))
    assert distribution_for(Actions(Box(-1, 1, (2, 3))), 0.35) == Normal(6, 0.35)
    assert distribution_for(Actions(Box(-1, 1, (2,)))).n_outputs == 4

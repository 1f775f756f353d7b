"""The behavior function: conditioning and bodies against the paper's formulas, its start, and its command input."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from udrl.actions import Categorical
from udrl.behavior import BehaviorFunction, CommandInput, make_behavior, split
from udrl.behavior.body import MLP, Conv, channels_first, make_network
from udrl.behavior.conditioning import Bilinear, Concat, Gated, orthogonal
from udrl.config import PAPER_TEXT, Config, replace
from udrl.errors import UserError
from udrl.spaces import Actions, Observations

KEY = jax.random.key(0)
SMALL = Config(hidden_sizes=(4, 6, 5), conv_channels=(3, 4))
PAPER = replace(SMALL, PAPER_TEXT)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def array(*shape: int, seed: int = 0) -> Any:
    return jnp.asarray(np.random.default_rng((seed, *shape)).normal(size=shape).astype(np.float32))


def randomized(module: Any) -> Any:
    """The module with all parameters random, biases too."""
    leaves, structure = jax.tree.flatten(module)
    return jax.tree.unflatten(structure, [0.3 * array(*leaf.shape, seed=i) for i, leaf in enumerate(leaves)])


def naive_bilinear(layer: Any, o: np.ndarray, c: np.ndarray) -> np.ndarray:
    U, p, V = papers_matrices(layer, o.size, c.size)
    W = (U @ c + p).reshape(layer.q.size, o.size)
    return W @ o + V @ c + np.asarray(layer.q)


def papers_matrices(layer: Any, o: int, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U [y*o, c], p [y*o] and V [y, c] of a bilinear layer."""
    y = layer.q.size
    U, p, V = np.split(np.asarray(layer.matrix).T, [o * c, o * c + o], axis=1)
    return U.reshape(y * o, c), p.reshape(y * o), V


def naive_conv(image: np.ndarray, filters: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A 3x3 convolution of stride two with one pixel of padding on every side, by its definition."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    height, width = (image.shape[1] + 1) // 2, (image.shape[2] + 1) // 2
    result = np.zeros((len(filters), height, width))
    for k in range(len(filters)):
        for i in range(height):
            for j in range(width):
                result[k, i, j] = (padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] * filters[k]).sum() + bias[k]
    return result


def assert_orthogonal(weight: Any, gain: float) -> None:
    matrix = np.asarray(weight).reshape(len(weight), -1)
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, gain**2 * np.eye(len(gram)), atol=1e-5)


def assert_uniform_within(values: Any, bound: float) -> None:
    flat = np.abs(np.asarray(values)).ravel()
    assert flat.max() <= bound
    assert flat.max() > 0.8 * bound
    assert np.median(flat) == pytest.approx(bound / 2, rel=0.25)


def test_gated_is_the_papers_formula():
    layer = randomized(Gated(3, 2, 5, 1.0, jax.nn.relu, KEY))
    o, c = array(3), array(2)
    gate = 1.0 / (1.0 + np.exp(-(layer.U.T @ c + layer.p)))
    np.testing.assert_allclose(layer(o, c), relu(np.asarray(layer.V.T @ o + layer.q)) * gate, rtol=1e-5, atol=1e-6)


def test_bilinear_is_the_papers_formula():
    layer = randomized(Bilinear(3, 2, 5, 1.0, jnp.tanh, KEY))
    o, c = np.asarray(array(3)), np.asarray(array(2))
    np.testing.assert_allclose(layer(jnp.asarray(o), jnp.asarray(c)), np.tanh(naive_bilinear(layer, o, c)), rtol=1e-5)


def test_concat_is_one_layer_over_both():
    layer = randomized(Concat(3, 2, 5, 1.0, jax.nn.relu, KEY))
    o, c = array(3), array(2)
    expected = relu(np.asarray(layer.W).T @ np.concatenate([o, c]) + np.asarray(layer.b))
    np.testing.assert_allclose(layer(o, c), expected, rtol=1e-5, atol=1e-6)


def test_fast_weights_start_orthogonal_in_the_papers_shapes_with_biases_of_zero():
    bilinear = Bilinear(3, 2, 5, 3.0, jax.nn.relu, KEY)
    gated = Gated(3, 2, 5, 3.0, jax.nn.relu, KEY)
    concat = Concat(3, 2, 5, 3.0, jax.nn.relu, KEY)
    U, p, V = papers_matrices(bilinear, 3, 2)
    assert (gated.U.shape, gated.V.shape, concat.W.shape) == ((2, 5), (3, 5), (5, 5))
    for weight in (U, V, gated.U, gated.V, concat.W):
        assert_orthogonal(weight, 3.0)
    for bias in (p, bilinear.q, gated.p, gated.q, concat.b):
        np.testing.assert_array_equal(bias, np.zeros_like(bias))


def test_parts_of_a_layer_start_from_different_random_numbers():
    gated = Gated(2, 2, 5, 1.0, jax.nn.relu, KEY)
    assert not np.allclose(gated.U, gated.V)


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (5, 2, 3, 3)])
def test_orthogonal_matrices_have_the_gain(shape: tuple[int, ...]):
    matrix = orthogonal(shape, 2.0, KEY)
    assert matrix.shape == shape
    assert_orthogonal(matrix, 2.0)


def test_shapes_are_checked_in_the_tests():
    with pytest.raises(jaxtyping.TypeCheckError):
        Gated(3, 2, 5, 1.0, jax.nn.relu, KEY)(jnp.zeros((3, 1)), jnp.zeros(2))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_an_mlp_conditions_first_and_gives_linear_outputs(activation: Any):
    network = randomized(MLP(3, 2, replace(SMALL, {"activation": activation}), KEY))
    f = relu if activation == "relu" else np.tanh
    o, c = np.asarray(array(3)), np.asarray(array(2))
    x = f(naive_bilinear(network.first, o, c))
    for layer in network.hidden:
        x = f(np.asarray(layer.weight).T @ x + np.asarray(layer.bias))
    expected = np.asarray(network.output.weight) @ x + np.asarray(network.output.bias)
    np.testing.assert_allclose(network(jnp.asarray(o), jnp.asarray(c)), expected, rtol=1e-4, atol=1e-6)
    assert [layer.weight.shape for layer in network.hidden] == [(4, 6), (6, 5)]
    assert network.first.q.shape == (4,)


@pytest.mark.parametrize("shape", [(7, 10, 2), (2, 7, 10), (7, 10), (8, 8, 1), (1, 5, 9)])
def test_a_convolutional_network_is_what_its_definition_says(shape: tuple[int, ...]):
    image = np.random.default_rng(1).random(shape, np.float32)
    network = randomized(Conv(shape, 3, SMALL, KEY))
    c = np.asarray(array(2))
    x = image[None] if image.ndim == 2 else image if shape[0] <= shape[2] else np.moveaxis(image, 2, 0)
    x = 2 * x - 1  # zero lies between black and white
    for filters, bias in zip(network.filters, network.biases, strict=True):
        x = relu(naive_conv(x, np.asarray(filters), np.asarray(bias)))
    x = x.ravel()
    for layer in network.hidden:
        x = relu(np.asarray(layer.weight).T @ x + np.asarray(layer.bias))
    expected = naive_bilinear(network.last, x, c)
    np.testing.assert_allclose(network(jnp.asarray(image), jnp.asarray(c)), expected, rtol=1e-4, atol=1e-5)


def test_images_are_the_same_with_channels_first_and_last():
    image = np.random.default_rng(2).random((7, 9, 2), np.float32)
    last, first = (randomized(Conv(shape, 3, SMALL, KEY)) for shape in ((7, 9, 2), (2, 7, 9)))
    turned = jnp.asarray(np.ascontiguousarray(np.moveaxis(image, 2, 0)))
    np.testing.assert_allclose(last(jnp.asarray(image), array(2)), first(turned, array(2)), rtol=1e-5)


def test_four_convolutions_of_the_papers_images_leave_four_by_four():
    config = Config(conv_channels=(1, 1, 1, 2), hidden_sizes=(3,))
    network = Conv((8, 64, 64), 2, config, KEY)
    assert network.filters[0].shape == (1, 8, 3, 3)
    assert network.hidden[0].weight.shape == (2 * 4 * 4, 3)
    assert isinstance(network.last, Bilinear)
    assert network.last.q.shape == (2,)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((5, 6), (1, 5, 6)), ((5, 6, 3), (3, 5, 6)), ((3, 5, 6), (3, 5, 6)), ((8, 64, 64), (8, 64, 64))],
)
def test_channels_are_the_shorter_outer_axis(shape: tuple[int, ...], expected: tuple[int, ...]):
    assert channels_first(shape) == expected


@pytest.mark.parametrize("option", ["bilinear", "gated", "concat"])
def test_the_last_layer_of_a_convolutional_network_has_no_nonlinearity(option: Any):
    config = replace(SMALL, {"fast_net_option": option})
    last = randomized(Conv((6, 6), 3, config, KEY).last)
    x, c = array(5), array(2)
    at_zero, at_one, at_minus_three = (np.asarray(last(k * x, c)) for k in (0.0, 1.0, -3.0))
    np.testing.assert_allclose(at_minus_three - at_zero, -3.0 * (at_one - at_zero), rtol=1e-4, atol=1e-5)
    assert np.abs(at_one - at_zero).max() > 0.1
    assert min(at_zero.min(), at_one.min(), at_minus_three.min()) < 0


def test_the_notebooks_start():
    network = MLP(3, 40, SMALL, KEY)
    for layer in network.hidden:
        assert_orthogonal(layer.weight, math.sqrt(2.0))
        np.testing.assert_array_equal(layer.bias, np.zeros_like(layer.bias))
    assert_uniform_within(network.output.weight, 5**-0.5)
    assert_uniform_within(network.output.bias, 5**-0.5)


def test_the_papers_text_starts_orthogonal_with_gain_one_everywhere():
    mlp, conv = MLP(3, 2, PAPER, KEY), Conv((8, 8, 2), 3, PAPER, KEY)
    for layer in (*mlp.hidden, mlp.output, *conv.hidden):
        assert_orthogonal(layer.weight, 1.0)
        np.testing.assert_array_equal(layer.bias, np.zeros_like(layer.bias))
    for filters, bias in zip(conv.filters, conv.biases, strict=True):
        assert_orthogonal(filters, 1.0)
        np.testing.assert_array_equal(bias, np.zeros_like(bias))


def test_the_fast_layer_has_a_gain_of_its_own():
    config = replace(SMALL, {"fast_init_gain": 0.5})
    for layer, inputs in ((MLP(3, 2, config, KEY).first, 3), (Conv((8, 8), 3, config, KEY).last, 5)):
        U, _, V = papers_matrices(layer, inputs, 2)
        assert_orthogonal(U, 0.5)
        assert_orthogonal(V, 0.5)
    assert_orthogonal(Conv((8, 8), 3, config, KEY).filters[0], math.sqrt(2.0))


@pytest.mark.parametrize(
    ("body", "shape", "is_bytes", "kind"),
    [
        ("auto", (5,), False, MLP),
        ("auto", (8, 8, 3), True, Conv),
        ("auto", (8, 8), True, Conv),
        ("auto", (8, 8), False, MLP),
        ("auto", (5,), True, MLP),
        ("mlp", (8, 8), True, MLP),
        ("conv", (8, 8), False, Conv),
    ],
)
def test_the_body_follows_the_observations(body: Any, shape: tuple[int, ...], is_bytes: bool, kind: type):
    network = make_network(shape, is_bytes, 3, replace(SMALL, {"body": body}), KEY)
    assert type(network) is kind
    assert network(jnp.zeros(shape), jnp.zeros(2)).shape == (3,)


def test_a_convolution_of_a_vector_is_refused():
    with pytest.raises(UserError, match="two or three axes"):
        make_network((5,), False, 3, replace(SMALL, {"body": "conv"}), KEY)


@pytest.mark.parametrize("body", ["mlp", "conv"])
def test_bytes_reach_the_network_as_numbers_from_zero_to_one(body: Any):
    image = np.random.default_rng(3).integers(0, 256, (6, 6)).astype(np.uint8)
    network = randomized(make_network((6, 6), True, 3, replace(SMALL, {"body": body}), KEY))
    behavior = BehaviorFunction(CommandInput(1.0, 1.0, None, False), network, Categorical((3,)))
    expected = network(jnp.asarray(image / np.float32(255.0)), array(2))
    np.testing.assert_allclose(behavior(jnp.asarray(image), array(2)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("max_return", "is_bounded", "command", "expected"),
    [
        (300.0, True, (400.0, 0.0), (150.0, 0.1)),
        (300.0, True, (-500.0, 20.0), (-250.0, 2.0)),
        (300.0, True, (300.0, -7.0), (150.0, 0.1)),
        (None, True, (400.0, 0.5), (200.0, 0.1)),
        (300.0, False, (400.0, -3.0), (200.0, -0.3)),
    ],
)
def test_the_command_is_bounded_and_then_scaled(
    max_return: float | None, is_bounded: bool, command: tuple[float, float], expected: tuple[float, float]
):
    scaled = CommandInput(0.5, 0.1, max_return, is_bounded)(jnp.array(command))
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)


class Echo(eqx.Module):
    """Gives the scaled command as outputs."""

    def __call__(self, observation: Any, command: Any) -> Any:
        return command


def behavior_of(config: Config, network: Any = None) -> BehaviorFunction:
    return make_behavior(Observations(Box(-1, 1, (3,))), Actions(Discrete(2)), config, KEY, network)


@pytest.mark.parametrize(("setting", "while_training"), [("always", (3.0, 0.02)), ("evaluation", (5.0, -0.08))])
def test_commands_are_bounded_always_or_in_evaluation_only(setting: Any, while_training: tuple[float, float]):
    config = Config(bound_commands=setting, max_return=300.0, return_scale=0.01, horizon_scale=0.02)
    behavior = behavior_of(config, Echo())
    command = jnp.array([500.0, -4.0])
    np.testing.assert_allclose(behavior(jnp.zeros(3), command), while_training, rtol=1e-6)
    np.testing.assert_allclose(behavior.bounded()(jnp.zeros(3), command), (3.0, 0.02), rtol=1e-6)


def test_all_answers_come_from_the_networks_outputs():
    behavior = behavior_of(SMALL)
    o, command = array(3), jnp.array([20.0, 30.0])
    outputs = behavior.network(o, jnp.array([20.0 * SMALL.return_scale, 30.0 * SMALL.horizon_scale]))
    np.testing.assert_allclose(behavior(o, command), outputs, rtol=1e-5)
    p = np.exp(outputs) / np.exp(outputs).sum()
    assert float(behavior.log_probability(o, command, jnp.array([1]))) == pytest.approx(math.log(p[1]), rel=1e-4)
    assert int(behavior.sample(o, command, jnp.array([p[0] - 0.01]))[0]) == 0
    assert int(behavior.sample(o, command, jnp.array([p[0] + 0.01]))[0]) == 1
    assert int(behavior.mode(o, command, jnp.array([0.0]))[0]) == int(np.argmax(p))
    assert behavior.distribution == Categorical((2,))


def test_the_same_key_gives_the_same_start_and_another_key_another():
    def first(key: int) -> np.ndarray:
        return np.asarray(MLP(3, 2, SMALL, jax.random.key(key)).output.weight)

    np.testing.assert_array_equal(first(1), first(1))
    assert not np.allclose(first(1), first(2))


def test_splitting_takes_all_parameters_and_nothing_else():
    behavior = behavior_of(SMALL)
    parameters, rest = split(behavior)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(parameters))
    assert jax.tree.leaves(rest) == []
    again = eqx.combine(parameters, rest)
    np.testing.assert_array_equal(again(array(3), jnp.ones(2)), behavior(array(3), jnp.ones(2)))


def test_neither_scales_nor_bounds_are_learned():
    parameters, _ = split(behavior_of(Config(max_return=300.0), Echo()))
    assert jax.tree.leaves(parameters) == []

"""The networks that conditioning is part of: fast weights first in an MLP, last in a convolutional net."""

import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from udrl.behavior.conditioning import CONDITIONING, Activation, Bilinear, Concat, Gated, orthogonal
from udrl.behavior.convolution import convolve
from udrl.config import Config
from udrl.errors import UserError

ACTIVATIONS: dict[str, Activation] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


class Dense(eqx.Module):
    """A hidden layer. Its matrix is kept transposed: on a CPU products are fast along the longer axis of a matrix."""

    weight: Float[Array, "x y"]
    bias: Float[Array, " y"]

    def __init__(self, x: int, y: int, gain: float, key: PRNGKeyArray) -> None:
        self.weight, self.bias = orthogonal((y, x), gain, key).T, jnp.zeros(y)

    def __call__(self, x: Float[Array, " x"]) -> Float[Array, " y"]:
        return x @ self.weight.astype(x.dtype) + self.bias.astype(x.dtype)


class Output(eqx.Module):
    """The output layer: few outputs, so its matrix is kept as it is."""

    weight: Float[Array, "y x"]
    bias: Float[Array, " y"]

    def __init__(self, x: int, y: int, init: Literal["uniform", "orthogonal"], key: PRNGKeyArray) -> None:
        """Weights and biases uniform within 1/sqrt(x), or weights orthogonal and biases zero."""
        bound = x**-0.5
        key_w, key_b = jax.random.split(key)
        if init == "uniform":
            self.weight = jax.random.uniform(key_w, (y, x), minval=-bound, maxval=bound)
            self.bias = jax.random.uniform(key_b, (y,), minval=-bound, maxval=bound)
        else:
            self.weight, self.bias = orthogonal((y, x), 1.0, key), jnp.zeros(y)

    def __call__(self, x: Float[Array, " x"]) -> Float[Array, " y"]:
        return self.weight @ x + self.bias


class MLP(eqx.Module):
    """Conditioning by the command, then hidden layers, then the outputs."""

    first: Gated | Bilinear | Concat
    hidden: tuple[Dense, ...]
    output: Output
    activation: Activation = eqx.field(static=True)
    precision: str = eqx.field(static=True)

    def __init__(self, n_inputs: int, n_outputs: int, config: Config, key: PRNGKeyArray) -> None:
        self.activation, self.precision = ACTIVATIONS[config.activation], config.precision
        first, *rest = config.hidden_sizes
        key_first, key_output, *keys = jax.random.split(key, len(rest) + 2)
        conditioning = CONDITIONING[config.fast_net_option]
        self.first = conditioning(n_inputs, 2, first, config.fast_init_gain, self.activation, key_first)
        self.hidden = dense_layers(config.hidden_sizes, config.hidden_init_gain, keys)
        self.output = Output(config.hidden_sizes[-1], n_outputs, config.output_init, key_output)

    def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        x = self.first(observation.ravel(), command).astype(self.precision)
        for layer in self.hidden:
            x = self.activation(layer(x))
        return self.output(x.astype(jnp.float32))


class Conv(eqx.Module):
    """3x3, stride-2 convolutions and hidden layers; the command enters the last layer, which gives the outputs."""

    filters: tuple[Float[Array, "out in 3 3"], ...]
    biases: tuple[Float[Array, " out"], ...]
    hidden: tuple[Dense, ...]
    last: Gated | Bilinear | Concat
    activation: Activation = eqx.field(static=True)
    precision: str = eqx.field(static=True)

    def __init__(self, shape: tuple[int, ...], n_outputs: int, config: Config, key: PRNGKeyArray) -> None:
        self.activation, self.precision = ACTIVATIONS[config.activation], config.precision
        channels, height, width = channels_first(shape)
        sizes = (channels, *config.conv_channels)
        key_filters, key_hidden, key_last = jax.random.split(key, 3)
        keys = jax.random.split(key_filters, len(config.conv_channels))
        self.filters = tuple(
            orthogonal((y, x, 3, 3), config.hidden_init_gain, k)
            for x, y, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )
        self.biases = tuple(jnp.zeros(y) for y in config.conv_channels)
        for _ in config.conv_channels:
            height, width = (height + 1) // 2, (width + 1) // 2
        units = (sizes[-1] * height * width, *config.hidden_sizes)
        self.hidden = dense_layers(
            units, config.hidden_init_gain, list(jax.random.split(key_hidden, len(config.hidden_sizes)))
        )
        conditioning = CONDITIONING[config.fast_net_option]
        self.last = conditioning(units[-1], 2, n_outputs, config.fast_init_gain, _identity, key_last)

    def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        # Centred: else what all pixels share drowns what changes from frame to frame, and learning takes far longer.
        image = 2.0 * to_channels_first(observation) - 1.0
        x = convolve(image.astype(self.precision), self.filters, self.biases, self.activation)
        for layer in self.hidden:
            x = self.activation(layer(x))
        return self.last(x.astype(jnp.float32), command)  # small, and the command needs all its digits


def dense_layers(sizes: tuple[int, ...], gain: float, keys: list[PRNGKeyArray]) -> tuple[Dense, ...]:
    """The layers from each size to the next."""
    return tuple(Dense(x, y, gain, key) for x, y, key in zip(sizes[:-1], sizes[1:], keys, strict=True))


def is_image(shape: tuple[int, ...], is_bytes: bool) -> bool:
    """What `body = auto` takes for an image."""
    return is_bytes and len(shape) in (2, 3, 4)


def make_network(
    shape: tuple[int, ...], is_bytes: bool, n_outputs: int, config: Config, key: PRNGKeyArray
) -> MLP | Conv:
    """The network that the configuration asks for, for observations of `shape`."""
    if config.body == "conv" or (config.body == "auto" and is_image(shape, is_bytes)):
        if len(shape) not in (2, 3, 4):
            raise UserError(f"body=conv needs images of two or three axes, or a stack of them, not {shape}.")
        return Conv(shape, n_outputs, config, key)
    return MLP(math.prod(shape), n_outputs, config, key)


def channels_first(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(channels, height, width) of an image of two axes, of three with the channels first or last, or of a stack."""
    if len(shape) == 2:
        return (1, *shape)
    if len(shape) == 4:
        channels, height, width = channels_first(shape[1:])
        return (shape[0] * channels, height, width)
    first, middle, last = shape
    return (first, middle, last) if first <= last else (last, first, middle)


def to_channels_first(image: Float[Array, "..."]) -> Float[Array, "channels height width"]:
    if image.ndim == 2:
        return image[None]
    if image.ndim == 4:
        return jnp.concatenate([to_channels_first(one) for one in image])
    return image if image.shape[0] <= image.shape[2] else jnp.moveaxis(image, 2, 0)


def _identity(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return x

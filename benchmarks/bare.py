"""A behavior function's training loop as bare JAX, without this project's code: throughput.py compares with it."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from udrl.config import Config
from udrl.segments import Examples

Parameters = Any
Loss = Callable[[Parameters, jax.Array, jax.Array, jax.Array], jax.Array]
"""(parameters, observations [B, *o], scaled commands [B, 2], actions [B, k]) -> mean loss"""


def bare_scan(config: Config, n_outputs: int, is_normal: bool, examples: Examples) -> Callable[[], Any]:
    """One training phase of plain arrays: the same network, loss and optimizer."""
    make = _convolutional if examples.observations.ndim > 3 else _fully_connected
    network, parameters = make(config, n_outputs, examples.observations.shape[2:])
    scale = jnp.array([config.return_scale, config.horizon_scale])
    log_probability = _normal if is_normal else _categorical

    def loss(parameters: Parameters, observations: jax.Array, commands: jax.Array, actions: jax.Array) -> jax.Array:
        return -jnp.mean(log_probability(network(parameters, observations, commands * scale), actions))

    adam = optax.adam(config.learning_rate)

    def update(carry: Any, batch: Examples) -> tuple[Any, jax.Array]:
        parameters, optimizer = carry
        value, gradient = jax.value_and_grad(loss)(parameters, *batch)
        updates, optimizer = adam.update(gradient, optimizer)
        return (optax.apply_updates(parameters, updates), optimizer), value

    scan = jax.jit(lambda carry, data: jax.lax.scan(update, carry, data), donate_argnums=0)
    carry: Any = (parameters, adam.init(parameters))

    def phase() -> np.ndarray:
        nonlocal carry
        carry, losses = scan(carry, examples)
        return np.asarray(losses)

    return phase


def _fully_connected(config: Config, n_outputs: int, shape: tuple[int, ...]) -> tuple[Any, Parameters]:
    o, sizes = math.prod(shape), (*config.hidden_sizes, n_outputs)
    layers = _layers((3 * o + 2 if config.fast_net_option == "bilinear" else o, *sizes))
    gate = (jnp.ones((2, sizes[0])) * 0.1, jnp.zeros(sizes[0]))

    def network(parameters: Parameters, x: jax.Array, c: jax.Array) -> jax.Array:
        layers, (u, p) = parameters
        x = _with_products(x, c) if config.fast_net_option == "bilinear" else x
        for i, (weight, bias) in enumerate(layers):
            x = x @ weight + bias
            x = jax.nn.relu(x) if i < len(layers) - 1 else x
            if i == 0 and config.fast_net_option == "gated":
                x = x * jax.nn.sigmoid(c @ u + p)
        return x

    return network, (layers, gate)


def _convolutional(config: Config, n_outputs: int, shape: tuple[int, ...]) -> tuple[Any, Parameters]:
    channels, *size = shape
    filters = [
        (jax.random.normal(jax.random.key(y), (y, x, 3, 3)) * (9 * x) ** -0.5, jnp.zeros((y, 1, 1)))
        for x, y in zip((channels, *config.conv_channels[:-1]), config.conv_channels, strict=True)
    ]
    for _ in filters:
        size = [(length + 1) // 2 for length in size]
    layers = _layers((config.conv_channels[-1] * math.prod(size), *config.hidden_sizes))
    last = _layers((3 * config.hidden_sizes[-1] + 2, n_outputs))

    def network(parameters: Parameters, images: jax.Array, c: jax.Array) -> jax.Array:
        filters, layers, [(weight, bias)] = parameters
        x = images.astype(jnp.float32) / 127.5 - 1.0
        for filter_, b in filters:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, filter_, (2, 2), ((1, 1), (1, 1))) + b)
        x = x.reshape(len(x), -1)
        for w, b in layers:
            x = jax.nn.relu(x @ w + b)
        return _with_products(x, c) @ weight + bias

    return network, (filters, layers, last)


def _layers(sizes: tuple[int, ...]) -> list[tuple[jax.Array, jax.Array]]:
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    return [
        (jax.random.normal(key, (x, y)) * x**-0.5, jnp.zeros(y))
        for key, x, y in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def _with_products(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.concatenate([(x[:, :, None] * c[:, None, :]).reshape(len(x), -1), x, c], axis=1)


def _normal(outputs: jax.Array, actions: jax.Array) -> jax.Array:
    mean, log_std = jnp.split(outputs, 2, axis=1)
    log_std = jax.nn.sigmoid(log_std) * 8 - 6
    return jnp.sum(-0.5 * ((actions - jnp.tanh(mean)) * jnp.exp(-log_std)) ** 2 - log_std, axis=1)


def _categorical(outputs: jax.Array, actions: jax.Array) -> jax.Array:
    return jnp.sum(jax.nn.log_softmax(outputs) * jax.nn.one_hot(actions[:, 0], outputs.shape[1]), axis=1)

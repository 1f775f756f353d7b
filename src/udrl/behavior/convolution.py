"""3x3 convolutions of stride 2 with one pixel of padding on every side, quick on a CPU (Appendix "TakeCover-v0")."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from udrl.behavior.conditioning import Activation

Filters = tuple[Float[Array, "_out _in 3 3"], ...]
Biases = tuple[Float[Array, " _out"], ...]


def convolve(
    image: Float[Array, "channels h w"], filters: Filters, biases: Biases, activation: Activation
) -> Float[Array, " features"]:
    """All convolutions one after the other, then one vector. For one image; `jax.vmap` batches it well."""
    return _convolutions(activation)(image, filters, biases)


@functools.cache
def _convolutions(activation: Activation) -> Any:
    """One function per activation, which knows how it wants to be batched: images side by side on the last axis.

    There everything a convolution moves is a row of as many numbers as there are images, whatever its stride; on a CPU
    that makes it several times as fast as with the images on the first axis, where `jax.vmap` would put them.
    """

    @jax.custom_batching.custom_vmap
    def one(image: Any, filters: Any, biases: Any) -> Any:
        return _side_by_side(image[..., None], filters, biases, activation)[..., 0]

    @one.def_vmap
    def many(axis_size: int, in_batched: Any, images: Any, filters: Any, biases: Any) -> Any:
        if in_batched != [True, (False,) * len(filters), (False,) * len(biases)]:
            raise NotImplementedError("Only images come in batches, not filters.")
        return _side_by_side(jnp.moveaxis(images, 0, -1), filters, biases, activation).T, True

    return one


def _side_by_side(
    x: Float[Array, "channels h w n"], filters: Filters, biases: Biases, activation: Activation
) -> Float[Array, "features n"]:
    for weight, bias in zip(filters, biases, strict=True):
        x = activation(_convolution(x, weight.astype(x.dtype)) + bias[:, None, None, None].astype(x.dtype))
    return x.reshape(-1, x.shape[-1])


def _convolution(x: Float[Array, "in h w n"], weight: Float[Array, "out in 3 3"]) -> Float[Array, "out h2 w2 n"]:
    """One matrix product over what each filter sees."""
    seen = jnp.stack([part for rows in _taps(x, 1) for part in _taps(rows, 2)])  # [9, in, h2, w2, n]
    matrix = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)  # [out, 9 * in]
    return (matrix @ seen.reshape(matrix.shape[1], -1)).reshape(len(weight), *seen.shape[2:])


def _taps(x: Float[Array, "..."], axis: int) -> list[Float[Array, "..."]]:
    """What the three taps of a filter of stride 2 see along an axis: at 2i - 1, at 2i and at 2i + 1."""
    zero = jnp.zeros((), x.dtype)
    if x.shape[axis] % 2:
        x = jax.lax.pad(x, zero, _along(axis, x.ndim, (0, 1)))
    pairs = x.reshape(*x.shape[:axis], x.shape[axis] // 2, 2, *x.shape[axis + 1 :])
    even, odd = (jax.lax.index_in_dim(pairs, i, axis + 1, keepdims=False) for i in (0, 1))
    before = jax.lax.pad(odd, zero, _along(axis, odd.ndim, (1, -1)))
    return [before, even, odd]


def _along(axis: int, ndim: int, ends: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Padding of one axis."""
    return [(*ends, 0) if i == axis else (0, 0, 0) for i in range(ndim)]

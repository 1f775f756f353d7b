"""How a command enters a network: gated, bilinear, or plain concatenation (Appendix "Network Architectures")."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Activation = Callable[[Float[Array, "..."]], Float[Array, "..."]]


class Gated(eqx.Module):
    """y = f(V o + q) * sigmoid(U c + p)."""

    U: Float[Array, "y c"]
    p: Float[Array, " y"]
    V: Float[Array, "y o"]
    q: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        key_u, key_v = jax.random.split(key)
        self.U, self.p = orthogonal((y, c), gain, key_u), jnp.zeros(y)
        self.V, self.q = orthogonal((y, o), gain, key_v), jnp.zeros(y)
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        gate = jax.nn.sigmoid(self.U @ command + self.p)
        return self.activation(self.V @ observation + self.q) * gate


class Bilinear(eqx.Module):
    """y = f(W o + b), where W = reshape(U c + p) and b = V c + q are produced by the command.

    W o is linear in the outer product of o and c, so no weight matrix is built per example: y is one dense
    product over [o x c, o, c].
    """

    U: Float[Array, "y*o c"]
    p: Float[Array, " y*o"]
    V: Float[Array, "y c"]
    q: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        key_u, key_v = jax.random.split(key)
        self.U, self.p = orthogonal((y * o, c), gain, key_u), jnp.zeros(y * o)
        self.V, self.q = orthogonal((y, c), gain, key_v), jnp.zeros(y)
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        y = self.q.size
        fused = jnp.concatenate([self.U.reshape(y, -1), self.p.reshape(y, -1), self.V], axis=1)
        inputs = jnp.concatenate([jnp.outer(observation, command).ravel(), observation, command])
        return self.activation(fused @ inputs + self.q)


class Concat(eqx.Module):
    """y = f(W [o, c] + b): what the paper found unreliable, for comparison."""

    W: Float[Array, "y o+c"]
    b: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        self.W, self.b = orthogonal((y, o + c), gain, key), jnp.zeros(y)
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        return self.activation(self.W @ jnp.concatenate([observation, command]) + self.b)


CONDITIONING: dict[str, type[Gated] | type[Bilinear] | type[Concat]] = {
    "gated": Gated,
    "bilinear": Bilinear,
    "concat": Concat,
}


def orthogonal(shape: tuple[int, ...], gain: float, key: PRNGKeyArray) -> Float[Array, "..."]:
    """An orthogonal matrix, or several filters that are orthogonal as rows."""
    matrix = jax.nn.initializers.orthogonal(gain)(key, (shape[0], math.prod(shape[1:])), jnp.float32)
    return matrix.reshape(shape)

"""How a command enters a network: gated, bilinear, or plain concatenation (Appendix "Network Architectures")."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Activation = Callable[[Float[Array, "..."]], Float[Array, "..."]]


class Gated(eqx.Module):
    """y = f(V o + q) * sigmoid(U c + p); the matrices are kept transposed, see `Dense`."""

    U: Float[Array, "c y"]
    p: Float[Array, " y"]
    V: Float[Array, "o y"]
    q: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        key_u, key_v = jax.random.split(key)
        self.U, self.p = orthogonal((y, c), gain, key_u).T, jnp.zeros(y)
        self.V, self.q = orthogonal((y, o), gain, key_v).T, jnp.zeros(y)
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        gate = jax.nn.sigmoid(command @ self.U + self.p)
        return self.activation(observation @ self.V + self.q) * gate


class Bilinear(eqx.Module):
    """y = f(W o + b), where W = reshape(U c + p) and b = V c + q are produced by the command.

    W o is linear in the outer product of o and c, so no weight matrix is built per example: y is one dense
    product over [o x c, o, c], whose matrix holds U, p and V.
    """

    matrix: Float[Array, "o*c+o+c y"]
    q: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        # Orthogonal in the paper's own shapes: as a whole the matrix would start with entries several times too large.
        key_u, key_v = jax.random.split(key)
        U, p = orthogonal((y * o, c), gain, key_u), jnp.zeros((y, o))
        V, self.q = orthogonal((y, c), gain, key_v), jnp.zeros(y)
        self.matrix = jnp.concatenate([U.reshape(y, o * c), p, V], axis=1).T
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        inputs = jnp.concatenate([jnp.outer(observation, command).ravel(), observation, command])
        return self.activation(inputs @ self.matrix + self.q)


class Concat(eqx.Module):
    """y = f(W [o, c] + b): what the paper found unreliable, for comparison."""

    W: Float[Array, "o+c y"]
    b: Float[Array, " y"]
    activation: Activation = eqx.field(static=True)

    def __init__(self, o: int, c: int, y: int, gain: float, activation: Activation, key: PRNGKeyArray) -> None:
        self.W, self.b = orthogonal((y, o + c), gain, key).T, jnp.zeros(y)
        self.activation = activation

    def __call__(self, observation: Float[Array, " o"], command: Float[Array, " c"]) -> Float[Array, " y"]:
        return self.activation(jnp.concatenate([observation, command]) @ self.W + self.b)


CONDITIONING: dict[str, type[Gated] | type[Bilinear] | type[Concat]] = {
    "gated": Gated,
    "bilinear": Bilinear,
    "concat": Concat,
}


def orthogonal(shape: tuple[int, ...], gain: float, key: PRNGKeyArray) -> Float[Array, "..."]:
    """An orthogonal matrix, or several filters that are orthogonal as rows."""
    matrix = jax.nn.initializers.orthogonal(gain)(key, (shape[0], math.prod(shape[1:])), jnp.float32)
    return matrix.reshape(shape)

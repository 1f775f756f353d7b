"""Distributions over actions that the behavior function's outputs parameterize (Appendix "Continuous Control")."""

import dataclasses
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from udrl.spaces import Actions

Outputs = Float[Array, " n_outputs"]


@runtime_checkable
class Distribution(Protocol):
    """A family of distributions over actions of k components. Noise comes from outside: acting is one dispatch."""

    @property
    def n_outputs(self) -> int:
        """How many numbers the network gives."""
        ...

    def log_probability(self, outputs: Outputs, action: Shaped[Array, " k"]) -> Float[Array, ""]: ...

    def sample(self, outputs: Outputs, noise: Float[Array, " k"]) -> Shaped[Array, " k"]: ...

    def mode(self, outputs: Outputs) -> Shaped[Array, " k"]: ...

    def describe(self, outputs: Outputs) -> Float[Array, " d"]:
        """The distribution in numbers: probabilities of all choices, or means and then deviations."""
        ...

    def draw_noise(self, rng: np.random.Generator, n_steps: int) -> np.ndarray:  # [n_steps, k] float32
        """The noise that `sample` turns into actions."""
        ...

    def draw_warm_up(self, noise: np.ndarray) -> np.ndarray:  # [B, k] -> [B, k]
        """Random actions that ask no network, from the same noise."""
        ...


@dataclasses.dataclass(frozen=True)
class Categorical:
    """Independent choices, component i among `sizes[i]`; the outputs are the logits of all components."""

    sizes: tuple[int, ...]

    @property
    def n_outputs(self) -> int:
        return sum(self.sizes)

    def log_probabilities(self, outputs: Outputs) -> list[Float[Array, " choices"]]:
        """Of each choice, for each component."""
        bounds = np.cumsum(self.sizes)[:-1].tolist()
        return [jax.nn.log_softmax(logits) for logits in jnp.split(outputs, bounds)]

    def log_probability(self, outputs: Outputs, action: Shaped[Array, " k"]) -> Float[Array, ""]:
        # A product with one-hot rows: the gradient of an indexed read is a slow scatter on a CPU.
        terms = [
            jnp.sum(log_p * jax.nn.one_hot(action[i], self.sizes[i]))
            for i, log_p in enumerate(self.log_probabilities(outputs))
        ]
        return jnp.sum(jnp.stack(terms))

    def sample(self, outputs: Outputs, noise: Float[Array, " k"]) -> Shaped[Array, " k"]:
        """By inversion: the first choice at which the cumulative probability passes the uniform noise."""
        choices = []
        for i, log_p in enumerate(self.log_probabilities(outputs)):
            cumulative = jnp.cumsum(jnp.exp(log_p))
            # The last entry may round to less than the noise; it is left out, so no choice beyond it exists.
            choices.append(jnp.sum(cumulative[:-1] <= noise[i], dtype=jnp.int32))
        return jnp.stack(choices)

    def mode(self, outputs: Outputs) -> Shaped[Array, " k"]:
        return jnp.stack([jnp.argmax(log_p).astype(jnp.int32) for log_p in self.log_probabilities(outputs)])

    def describe(self, outputs: Outputs) -> Float[Array, " d"]:
        return jnp.exp(jnp.concatenate(self.log_probabilities(outputs)))

    def draw_noise(self, rng: np.random.Generator, n_steps: int) -> np.ndarray:
        return rng.random((n_steps, len(self.sizes)), np.float32)

    def draw_warm_up(self, noise: np.ndarray) -> np.ndarray:
        return (noise * np.array(self.sizes)).astype(np.int32)


@dataclasses.dataclass(frozen=True)
class Normal:
    """Independent Normals in the box [-1, 1]^k: tanh means, log deviations squashed into [-6, 2]."""

    k: int
    warm_up_std: float | None = None
    """Deviation of warm-up actions; without it they are uniform in the box."""

    @property
    def n_outputs(self) -> int:
        return 2 * self.k

    def mean_and_log_std(self, outputs: Outputs) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        means, log_stds = outputs[: self.k], outputs[self.k :]
        return jnp.tanh(means), jax.nn.sigmoid(log_stds) * 8.0 - 6.0

    def log_probability(self, outputs: Outputs, action: Shaped[Array, " k"]) -> Float[Array, ""]:
        mean, log_std = self.mean_and_log_std(outputs)
        z = (action - mean) * jnp.exp(-log_std)
        return jnp.sum(-0.5 * z**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi))

    def sample(self, outputs: Outputs, noise: Float[Array, " k"]) -> Shaped[Array, " k"]:
        mean, log_std = self.mean_and_log_std(outputs)
        return mean + jnp.exp(log_std) * noise

    def mode(self, outputs: Outputs) -> Shaped[Array, " k"]:
        return self.mean_and_log_std(outputs)[0]

    def describe(self, outputs: Outputs) -> Float[Array, " d"]:
        mean, log_std = self.mean_and_log_std(outputs)
        return jnp.concatenate([mean, jnp.exp(log_std)])

    def draw_noise(self, rng: np.random.Generator, n_steps: int) -> np.ndarray:
        return rng.standard_normal((n_steps, self.k), np.float32)

    def draw_warm_up(self, noise: np.ndarray) -> np.ndarray:
        if self.warm_up_std is not None:
            return np.float32(self.warm_up_std) * noise
        from scipy.special import ndtr  # the Normal's distribution function makes its noise uniform

        return (2.0 * ndtr(noise) - 1.0).astype(np.float32)


def distribution_for(actions: Actions, warm_up_std: float | None = None) -> Categorical | Normal:
    """The paper's choice for an environment's actions."""
    return Categorical(actions.sizes) if actions.is_discrete else Normal(actions.k, warm_up_std)

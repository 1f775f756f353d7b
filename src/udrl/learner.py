"""Supervised learning: the loss of Eq. 4, and a whole training phase as one compiled scan (Algorithm 1, line 4)."""

from collections.abc import Callable
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Sharding
from jaxtyping import Array, Float

from udrl.behavior import BehaviorFunction, split
from udrl.segments import Examples


class LearnerState(NamedTuple):
    """All that a training phase changes."""

    parameters: BehaviorFunction
    optimizer: optax.OptState


Phase = Callable[[LearnerState, Examples], tuple[LearnerState, Float[Array, " U"]]]


def loss(behavior: BehaviorFunction, examples: Examples) -> Float[Array, ""]:
    """Mean negative log-probability of the actions taken, over a batch of examples [B, ...]."""
    log_probabilities = jax.vmap(behavior.log_probability)(*map(jnp.asarray, examples))
    return -jnp.mean(log_probabilities)


class Learner:
    """Improves a behavior function with Adam, on the device given, or where JAX puts it."""

    def __init__(self, behavior: BehaviorFunction, learning_rate: float, device: Sharding | None = None) -> None:
        self._device = device
        self._first, self._rest = split(behavior)
        self._adam = optax.adam(learning_rate)
        self._phase: Phase = jax.jit(self._scan, donate_argnums=0)

    def initial_state(self) -> LearnerState:
        """The behavior function as it was given, in arrays of its own, and Adam at its start."""
        parameters = jax.tree.map(jnp.copy, self._first)
        return jax.device_put(LearnerState(parameters, self._adam.init(parameters)), self._device)

    def train(self, state: LearnerState, examples: Examples) -> tuple[LearnerState, np.ndarray]:
        """One update per row of `examples` [U, B, ...]; returns the loss [U] before each. `state` is used up."""
        state, losses = self._phase(state, examples)
        return state, np.asarray(losses)

    def behavior(self, state: LearnerState) -> BehaviorFunction:
        """The behavior function with the parameters of `state`."""
        return eqx.combine(state.parameters, self._rest)

    def _scan(self, state: LearnerState, examples: Examples) -> tuple[LearnerState, Float[Array, " U"]]:
        return jax.lax.scan(self._update, state, examples)

    def _update(self, state: LearnerState, batch: Examples) -> tuple[LearnerState, Float[Array, ""]]:
        def batch_loss(parameters: BehaviorFunction) -> Float[Array, ""]:
            return loss(eqx.combine(parameters, self._rest), batch)

        value, gradient = jax.value_and_grad(batch_loss)(state.parameters)
        updates, optimizer = self._adam.update(gradient, state.optimizer)
        # Optax's type of parameters knows no modules.
        parameters = optax.apply_updates(cast(optax.Params, state.parameters), updates)
        return LearnerState(cast(BehaviorFunction, parameters), optimizer), value

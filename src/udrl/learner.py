"""Supervised learning: the loss of Eq. 4, and a whole training phase as one compiled scan (Algorithm 1, line 4)."""

from collections.abc import Callable
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from udrl.behavior import BehaviorFunction, split
from udrl.cores import SHARE
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
    """Improves a behavior function with Adam, on one device or on the several of a mesh, which share each batch."""

    def __init__(self, behavior: BehaviorFunction, learning_rate: float, mesh: Mesh | None = None) -> None:
        self._first, self._rest = split(behavior)
        self._adam = optax.adam(learning_rate)
        mesh = mesh or Mesh(np.array(jax.devices()[:1]), SHARE)
        self._is_shared = mesh.size > 1
        self._everywhere = NamedSharding(mesh, PartitionSpec())
        self._by_examples = NamedSharding(mesh, PartitionSpec(None, SHARE))
        phase = self._scan
        if self._is_shared:
            specs = self._everywhere.spec, self._by_examples.spec
            phase = jax.shard_map(phase, mesh=mesh, in_specs=specs, out_specs=specs[0], check_vma=False)
        self._phase: Phase = jax.jit(phase, donate_argnums=0)

    def initial_state(self) -> LearnerState:
        """The behavior function as it was given, in arrays of its own, and Adam at its start."""
        parameters = jax.tree.map(jnp.copy, self._first)
        return jax.device_put(LearnerState(parameters, self._adam.init(parameters)), self._everywhere)

    def train(self, state: LearnerState, examples: Examples) -> tuple[LearnerState, np.ndarray]:
        """One update per row of `examples` [U, B, ...]; returns the loss [U] before each. `state` is used up."""
        if self._is_shared:
            examples = jax.device_put(examples, self._by_examples)
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

        found = jax.value_and_grad(batch_loss)(state.parameters)
        value, gradient = _mean_of_shares(found) if self._is_shared else found
        # Optax's type of parameters knows no modules.
        updates, optimizer = self._adam.update(cast(optax.Updates, gradient), state.optimizer)
        parameters = optax.apply_updates(cast(optax.Params, state.parameters), updates)
        return LearnerState(cast(BehaviorFunction, parameters), optimizer), value


Found = tuple[Float[Array, ""], BehaviorFunction]


def _mean_of_shares(found: Found) -> Found:
    """The loss and the gradient of a whole batch, from those of each device's share.

    As one vector: the devices wait for each other once for an update, not once for each parameter.
    """
    vector, as_found = ravel_pytree(found)
    return as_found(jax.lax.pmean(vector, SHARE))

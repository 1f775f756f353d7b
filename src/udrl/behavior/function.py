"""The behavior function B(a | s, command): command input, network and distribution of actions (Section 2.1)."""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from udrl.actions import Distribution, Outputs, distribution_for
from udrl.behavior.body import make_network
from udrl.config import Config
from udrl.frames import stacked_shape
from udrl.spaces import Actions, Observations


@runtime_checkable
class Network(Protocol):
    """What gives the outputs: any Equinox module that takes one observation (bytes come as 0 to 1) and the scaled
    command [2]."""

    def __call__(self, observation: Float[Array, "*o"], command: Float[Array, " 2"]) -> Outputs: ...


class CommandInput(eqx.Module):
    """The command as the network sees it: bounded, then scaled. The only place that does either."""

    return_scale: float = eqx.field(static=True)
    horizon_scale: float = eqx.field(static=True)
    max_return: float | None = eqx.field(static=True)
    is_bounded: bool = eqx.field(static=True)

    def __call__(self, command: Float[Array, " 2"]) -> Float[Array, " 2"]:
        if self.is_bounded:
            most = jnp.array([jnp.inf if self.max_return is None else self.max_return, jnp.inf])
            least = jnp.array([-jnp.inf, 1.0])
            command = jnp.clip(command, least, most)
        return command * jnp.array([self.return_scale, self.horizon_scale])


class BehaviorFunction(eqx.Module):
    """Answers an observation and a command with a distribution over actions. For one step; `jax.vmap` batches it."""

    command_input: CommandInput
    network: Network
    distribution: Distribution = eqx.field(static=True)

    def __call__(self, observation: Shaped[Array, "*o"], command: Float[Array, " 2"]) -> Outputs:
        if observation.dtype == jnp.uint8:  # bytes stay bytes until here, so that a replay of images stays small
            observation = observation.astype(jnp.float32) / 255.0
        return self.network(observation, self.command_input(command))

    def log_probability(
        self, observation: Shaped[Array, "*o"], command: Float[Array, " 2"], action: Shaped[Array, " k"]
    ) -> Float[Array, ""]:
        return self.distribution.log_probability(self(observation, command), action)

    def sample(
        self, observation: Shaped[Array, "*o"], command: Float[Array, " 2"], noise: Float[Array, " k"]
    ) -> Shaped[Array, " k"]:
        return self.distribution.sample(self(observation, command), noise)

    def mode(
        self, observation: Shaped[Array, "*o"], command: Float[Array, " 2"], noise: Float[Array, " k"]
    ) -> Shaped[Array, " k"]:
        """The likeliest action; `noise` is not used, it is there so that both ways of acting are called alike."""
        return self.distribution.mode(self(observation, command))

    def describe(
        self, observation: Shaped[Array, "*o"], command: Float[Array, " 2"], noise: Float[Array, " k"]
    ) -> Float[Array, " d"]:
        """The distribution that actions are drawn from, in numbers; called like the ways of acting."""
        return self.distribution.describe(self(observation, command))

    def bounded(self) -> "BehaviorFunction":
        """The same with bounds on the command, as evaluation and users have it."""
        scaling = self.command_input
        bounded = CommandInput(scaling.return_scale, scaling.horizon_scale, scaling.max_return, True)
        return BehaviorFunction(bounded, self.network, self.distribution)


def make_behavior(
    observations: Observations, actions: Actions, config: Config, key: PRNGKeyArray, network: Network | None = None
) -> BehaviorFunction:
    """The behavior function of the configuration, at its start; a network of the user's own takes the place of ours."""
    distribution = distribution_for(actions, config.warm_up_std)
    if network is None:
        is_bytes = observations.dtype.itemsize == 1
        shape = stacked_shape(observations.shape, config.frame_stack)
        # Compiled as a whole: one initial matrix after the other would take twice as long.
        network = eqx.filter_jit(make_network)(shape, is_bytes, distribution.n_outputs, config, key)
    is_bounded = config.bound_commands == "always"
    command_input = CommandInput(config.return_scale, config.horizon_scale, config.max_return, is_bounded)
    return BehaviorFunction(command_input, network, distribution)


def split(behavior: BehaviorFunction) -> tuple[BehaviorFunction, BehaviorFunction]:
    """What is learned, and all the rest: `eqx.combine` puts them together again."""
    return eqx.partition(behavior, eqx.is_inexact_array)

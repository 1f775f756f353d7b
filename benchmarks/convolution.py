"""Time of one gradient of TakeCover's network against PyTorch's, interleaved; prints one JSON line.

    python benchmarks/convolution.py --threads 2

Needs PyTorch (pip install torch); the weights are the same on both sides, and so is the loss.
"""

# The rest of the project is checked without PyTorch.
# pyright: reportMissingImports=false

import dataclasses
import json
import statistics
import time
from collections.abc import Callable

import tyro

from udrl.cores import SHARE, choose_mesh, limit_cores
from udrl.tasks import find_task


@dataclasses.dataclass(frozen=True)
class Arguments:
    task: str = "takecover"
    batch_size: int | None = None
    """Examples; without it the task's."""
    threads: int = 2
    repeats: int = 7


ARGUMENTS = tyro.cli(Arguments) if __name__ == "__main__" else Arguments()
limit_cores(ARGUMENTS.threads)

import jax
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from jax.sharding import NamedSharding, PartitionSpec
from torch.nn import functional

from udrl.behavior import BehaviorFunction, Conv, make_behavior, split
from udrl.learner import loss
from udrl.segments import Examples
from udrl.spaces import Actions, Observations


def ours(behavior: BehaviorFunction, batch: Examples) -> Callable[[], float]:
    """Loss and gradient as the learner has them, each device with its share of the batch."""
    import equinox as eqx

    parameters, rest = split(behavior)
    mesh = choose_mesh("cpu", True, len(batch.actions), sum(leaf.size for leaf in jax.tree.leaves(parameters)))
    everywhere, shares = PartitionSpec(), PartitionSpec(SHARE)

    def gradient(parameters: BehaviorFunction, batch: Examples) -> tuple[jax.Array, BehaviorFunction]:
        value, found = jax.value_and_grad(lambda p: loss(eqx.combine(p, rest), batch))(parameters)
        return jax.lax.pmean((value, found), SHARE)

    mapped = jax.shard_map(gradient, mesh=mesh, in_specs=(everywhere, shares), out_specs=everywhere, check_vma=False)
    compiled = jax.jit(mapped)
    placed = jax.device_put(parameters, NamedSharding(mesh, everywhere))
    there = jax.device_put(batch, NamedSharding(mesh, shares))
    return lambda: float(jax.block_until_ready(compiled(placed, there))[0])


def theirs(network: Conv, batch: Examples, scale: float) -> Callable[[], float]:
    """The same in PyTorch."""
    torch.set_num_threads(ARGUMENTS.threads)

    def tensor(array: jax.Array) -> torch.Tensor:
        return torch.tensor(np.asarray(array)).requires_grad_()

    convolutions = [(tensor(w), tensor(b)) for w, b in zip(network.filters, network.biases, strict=True)]
    hidden = [(tensor(layer.weight), tensor(layer.bias)) for layer in network.hidden]
    matrix, bias = tensor(network.last.matrix), tensor(network.last.q)  # type: ignore[union-attr]
    observations, actions = torch.tensor(batch.observations), torch.tensor(batch.actions[:, 0]).long()
    command = torch.tensor(batch.commands) * scale
    parameters = [*(p for pair in (*convolutions, *hidden) for p in pair), matrix, bias]

    def gradient() -> float:
        for parameter in parameters:
            parameter.grad = None
        x = observations.float() / 127.5 - 1.0
        for w, b in convolutions:
            x = torch.relu(functional.conv2d(x, w, b, stride=2, padding=1))
        x = x.flatten(1)
        for w, b in hidden:
            x = torch.relu(x @ w + b)
        outer = (x[:, :, None] * command[:, None, :]).flatten(1)
        value = functional.cross_entropy(torch.cat([outer, x, command], 1) @ matrix + bias, actions)
        value.backward()
        return value.item()

    return gradient


def measure() -> dict[str, str | int | float]:
    config = find_task(ARGUMENTS.task).config
    n = ARGUMENTS.batch_size or config.batch_size
    rng = np.random.default_rng(0)
    batch = Examples(
        rng.integers(0, 256, (n, config.frame_stack, 64, 64)).astype(np.uint8),
        rng.integers(1, 9, (n, 2)).astype(np.float32),
        rng.integers(0, 2, (n, 1)).astype(np.int32),
    )
    spaces = Observations(Box(0, 255, (64, 64), np.uint8)), Actions(Discrete(2))
    behavior = make_behavior(*spaces, config, jax.random.key(0))
    assert isinstance(behavior.network, Conv)
    sides = {"jax": ours(behavior, batch), "pytorch": theirs(behavior.network, batch, config.return_scale)}
    values = {name: side() for name, side in sides.items()}
    assert abs(values["jax"] - values["pytorch"]) < 1e-3 * abs(values["pytorch"]), values
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ARGUMENTS.repeats):
        for name, side in sides.items():
            began = time.perf_counter()
            side()
            times[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(some) for name, some in times.items()}
    return {
        "task": ARGUMENTS.task,
        "batch_size": n,
        "threads": ARGUMENTS.threads,
        "jax_seconds": round(medians["jax"], 3),
        "pytorch_seconds": round(medians["pytorch"], 3),
        "ratio": round(medians["jax"] / medians["pytorch"], 3),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))

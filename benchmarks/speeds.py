"""The table of speeds of docs/speed.md: every task, engine and number of cores, measured one after the other.

    python benchmarks/speeds.py > docs/speed.md

Run it with nothing else on the machine; it takes about fifteen minutes.
"""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import tyro

from udrl.engines import SAME_IN_ENVPOOL
from udrl.tasks import find_task

THROUGHPUT = Path(__file__).with_name("throughput.py")
TASKS = ("cartpole", "lunarlander", "lunarlander-sparse", "swimmer", "inverted-double-pendulum", "takecover-small")
SHORT = {"takecover-small": 20_000}
"""Lengths of runs of tasks that would take long."""

HEAD = """# Speed

Environment steps a second with training and evaluation, as
`python benchmarks/speeds.py --env-steps {env_steps}` measured them in one sitting on {cores}, over
{env_steps:,} steps each (takecover-small: {short:,}).

- *Steps/s* leaves the steps of evaluations out, not their time; *all steps* counts them.
- *Limit*: what the same run would take on one core if nothing were done but stepping the bare engine through the same
  episodes and the compiled training phases, measured in pauses between the iterations of the run. *Ratio*: how near the
  run comes to it. Compiling counts: it weighs more in runs this short.
- *Times one core*: how long one core, at the speed of the row above, would take for the updates and steps of the run on
  two, over how long it took. (The two runs differ in their last bits, and so, soon, in the length of their episodes:
  their steps per second alone do not tell.) The start of processes counts.

| task | engine | cores | steps/s | all steps/s | engine alone | update ms | ratio to limit | times one core |
|---|---|---|---|---|---|---|---|---|"""


@dataclasses.dataclass(frozen=True)
class Arguments:
    tasks: tuple[str, ...] = TASKS
    engines: tuple[str, ...] = ("gymnasium", "envpool")
    threads: tuple[int, ...] = (1, 2)
    env_steps: int = 200_000
    """Length of each run."""


def measure(task: str, engine: str, threads: int, env_steps: int) -> dict[str, Any]:
    command = [task, "--engine", engine, "--threads", str(threads), "--env-steps", str(env_steps)]
    done = subprocess.run([sys.executable, str(THROUGHPUT), *command], stdout=subprocess.PIPE, check=True)
    line: dict[str, Any] = json.loads(done.stdout)
    print(json.dumps(line), file=sys.stderr, flush=True)
    return line


def seconds_on_one(line: dict[str, Any], on_one: dict[str, Any]) -> float:
    """How long one core takes for what a run did, by what its parts took in a run on one."""
    parts = on_one["seconds_by_part"]
    improve = parts["improve"] * line["iterations"] / on_one["iterations"]
    collect = (parts["explore"] + parts["evaluate"]) * line["all_steps"] / on_one["all_steps"]
    return improve + collect + parts["rest"]


def row(line: dict[str, Any], on_one: dict[str, Any]) -> str:
    cells = [line["task"], line["engine"], line["threads"], f"{line['env_steps_per_second']:,}"]
    cells += [f"{line[name]:,}" if name in line else "" for name in ("all_steps_per_second", "raw_steps_per_second")]
    cells += [f"{line[name]:.2f}" if name in line else "" for name in ("update_ms", "ratio")]
    cells.append(f"{seconds_on_one(line, on_one) / line['seconds']:.2f}" if line["threads"] > 1 else "")
    return "| " + " | ".join(map(str, cells)) + " |"


def processor() -> str:
    """What the machine calls its processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else "this machine"


def main(arguments: Arguments) -> None:
    short = SHORT["takecover-small"]
    print(HEAD.format(cores=processor(), env_steps=arguments.env_steps, short=short), flush=True)
    for task in arguments.tasks:
        knows_envpool = find_task(task).config.env_id in SAME_IN_ENVPOOL
        for engine in arguments.engines if knows_envpool else ("gymnasium",):
            on_one: dict[str, Any] = {}
            for threads in (1, *(n for n in arguments.threads if n > 1)):
                line = measure(task, engine, threads, SHORT.get(task, arguments.env_steps))
                on_one = line if threads == 1 else on_one
                print(row(line, on_one), flush=True)


if __name__ == "__main__":
    main(tyro.cli(Arguments))

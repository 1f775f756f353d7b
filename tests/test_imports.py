"""Data flows one way: a module imports only from modules that stand above it in the algorithm's story."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import udrl

SOURCE = Path(udrl.__file__).parent

ORDER = [
    "errors",
    "config",
    "tasks",
    "cores",
    "randomness",
    "command",
    "episode",
    "spaces",
    "frames",
    "actions",
    "replay",
    "segments",
    "behavior",
    "learner",
    "exploration",
    "takecover",
    "engines",
    "environments",
    "rollout",
    "evaluation",
    "workers",
    "checkpoint",
    "run_folder",
    "demonstrations",
    "follower",
    "agent",
    "live",
    "captions",
    "video",
    "render",
    "training",
    "replay_files",
    "training_files",
    "loggers",
    "progress",
    "run",
    "baselines",
    "api",
    "experiments",
    "page",
    "commands",
    "cli",
]
"""`udrl` itself holds no code but names, so that anyone may import its version."""


def part_of(file: Path) -> str:
    return file.relative_to(SOURCE).with_suffix("").parts[0]


FILES = sorted(file for file in SOURCE.rglob("*.py") if file != SOURCE / "__init__.py")


def imports(file: Path) -> set[str]:
    """The parts of udrl that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "udrl":
            found |= {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("udrl."):
            found.add((node.module or "").split(".")[1])
    return found


def test_every_module_has_its_place_in_the_order() -> None:
    assert {part_of(file) for file in FILES} == set(ORDER)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_from_above(file: Path) -> None:
    here = ORDER.index(part_of(file))
    below = {name for name in imports(file) if ORDER.index(name) > here}
    assert not below


@pytest.mark.parametrize("module", ["command", "episode", "spaces", "replay", "segments", "engines", "environments"])
def test_environments_and_replay_never_see_jax(module: str) -> None:
    check = f"import sys, udrl.{module}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_the_command_line_starts_without_jax_and_gymnasium() -> None:
    check = "import sys, udrl.cli; udrl.cli.main(['tasks']); sys.exit(bool({'jax', 'gymnasium'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0


def test_all_public_names_can_be_imported() -> None:
    assert all(getattr(udrl, name) is not None for name in udrl.__all__)

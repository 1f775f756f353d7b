"""Arrays and JSON in one file that is written whole or not at all, and that runs no code when it is read."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from udrl.errors import TrainingError, UserError

FORMAT_VERSION = 1
_KEY = "udrl"


def save(path: Path, kind: str, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    """Write a file of that kind; an earlier one stays as it is until the new one is complete on disk."""
    document = {"format_version": FORMAT_VERSION, "kind": kind, **metadata}
    # safetensors writes an array that is not contiguous wrongly, and says nothing. (ascontiguousarray adds an axis
    # to a single number.)
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with whole_file(path) as temporary:
        save_file(contiguous, temporary, {_KEY: json.dumps(document)})


def load(path: Path, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a file of that kind; anything else is refused with a sentence."""
    try:
        with safe_open(path, "numpy") as file:
            document = json.loads((file.metadata() or {})[_KEY])
            if not isinstance(document, dict) or document.get("kind") != kind:
                raise UserError(f"{path} is not a udrl {kind} file.")
            if document.get("format_version") != FORMAT_VERSION:
                version = document.get("format_version")
                raise UserError(f"{path} has format {version}; this udrl reads format {FORMAT_VERSION}: update udrl.")
            return {name: file.get_tensor(name) for name in file.keys()}, document  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.") from None
    except (SafetensorError, OSError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is damaged or not a udrl file ({error}); restore it or delete it.") from None


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place once it is written and on disk."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError | SafetensorError):
            raise
        raise TrainingError(f"{path} cannot be written ({error}); what was saved before is still there.") from error


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """A JSON file, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(document, indent=2) + "\n")


def sync_folder(folder: Path) -> None:
    """Make a renaming last; where folders cannot be synced, the system does it in its own time."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def flatten_tree(tree: Any, prefix: str) -> dict[str, np.ndarray]:
    """The arrays of a tree by their paths in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {prefix + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def restore_tree(like: Any, arrays: Mapping[str, np.ndarray], prefix: str, source: Path) -> Any:
    """A tree like `like` (arrays, or only their shapes) with the values that `flatten_tree` gave."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    values = []
    for path, leaf in leaves:
        name = prefix + jax.tree_util.keystr(path)
        value = arrays.get(name)
        if value is None or value.shape != leaf.shape or value.dtype != leaf.dtype:
            raise UserError(f"{source} does not fit: '{name}' should be {leaf.dtype}{list(leaf.shape)}.")
        # A copy, where the other was: the state is donated to the next training phase.
        values.append(jax.device_put(jax.numpy.array(value), leaf.sharding))
    return jax.tree_util.tree_unflatten(structure, values)


def sync(descriptor: int) -> None:
    """Have a file's content on disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise TrainingError(f"The disk does not take what is written: {error.strerror}.") from error

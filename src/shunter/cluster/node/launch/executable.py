"""Finds the program that a command line names, and executes it."""

from __future__ import annotations

import os
from collections.abc import Mapping


def execute(argv: list[str], env: dict[str, str]) -> str:
    """Replaces this process with the program; returns only on failure, with the reason in runc's words."""
    name = argv[0]
    denied = False
    for path in candidates(name, env):
        try:
            os.execve(path, argv, env)
        except PermissionError:
            denied = True
        except (FileNotFoundError, NotADirectoryError):
            if os.path.isfile(path):
                return f"exec {path}: no such file or directory"  # its interpreter does not exist
            continue
        except OSError as error:
            return f"exec {path}: {(error.strerror or str(error)).lower()}"
    if denied:
        return f'exec: "{name}": permission denied'
    if "/" in name:
        return f'exec: "{name}": stat {name}: no such file or directory'
    return f'exec: "{name}": executable file not found in $PATH'


def candidates(name: str, env: Mapping[str, str]) -> list[str]:
    """The paths at which a program is looked for, in search order."""
    return [name] if "/" in name else [f"{place}/{name}" for place in env.get("PATH", "").split(":") if place]

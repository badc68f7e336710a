"""Whether all that a container runs can be seen, so that a variable which nothing in it names is read by nothing.

Programs of images cannot be seen, and count as reading every variable; so do modules of Python that may ask for any, and files
that are mounted, which may be others by the time that the job runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from functools import lru_cache

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.jobs.commands import shell
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.launchers import is_python
from shunter.jobs.commands.shells import SHELLS
from shunter.migrate.conversion.commands import python_code

_COMMANDS = frozenset({
    ":", "[", "cat", "cd", "cp", "date", "echo", "exit", "false", "ls", "mkdir", "mv", "nvidia-smi", "printf", "pwd", "rm", "seq",
    "sleep", "sync", "tail", "test", "touch", "true", "wait", "wc",
})  # fmt: skip
"""Commands that read none of the variables by which processes learn of each other, unless their words name them."""
_MODULES = frozenset({
    "__future__", "argparse", "collections", "csv", "dataclasses", "datetime", "functools", "itertools", "json", "logging",
    "math", "numpy", "os", "pathlib", "random", "re", "sys", "time", "torch", "torchvision", "typing",
})  # fmt: skip
"""Modules that read none of them by being imported; torch does when its `distributed` is set up."""
_NAME = late_pattern(r"\w+")
_ANY_VARIABLE = late_pattern(
    r"environ|getenv|getattr|distributed|elastic|import_module|__import__|\b(?:eval|exec|compile|open|runpy)\b|"
    r"\bos\.(?:system|popen|exec|spawn|posix_spawn|fork)|\bfrom\s+os\b"
)
"""Words of code that may read any variable, or run what does."""


def unread(container: Json, names: Collection[str]) -> frozenset[str]:
    """The variables that nothing in the container reads. Empty if part of the container cannot be analyzed."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    hooks = [container.get(field) for field in ("lifecycle", "startupProbe", "livenessProbe", "readinessProbe")]
    if not container.get("command") or any(hooks) or not _is_known([str(word) for word in words]):
        return frozenset()
    said = " ".join(str(text) for text in (*words, *(one.get("value") for one in container.get("env") or ())))
    own = {name for name in names if name.startswith("PYTHON") and is_python(program_name(str(words[0])))}
    return frozenset(names) - set(_NAME.findall(said)) - own


def _is_known(words: list[str]) -> bool:
    name = program_name(words[0])
    if name in SHELLS:
        return len(words) == 3 and words[1] in ("-c", "-ec", "-ce") and _is_known_shell(words[2])
    if is_python(name):
        return words[1:-1] in (["-c"], ["-uc"], ["-u", "-c"]) and _is_known_code(words[-1])
    return name in _COMMANDS


@lru_cache(maxsize=256)
def _is_known_shell(text: str) -> bool:
    """Whether only commands run that are known; a substitution or a variable may name any other."""
    if re.search(r"[`<]|\$\(", text):
        return False
    commands = [[word.literal for word in command.words] for command in shell.script(text).commands if command.words]
    return all(words[0] is not None and program_name(words[0]) in _COMMANDS for words in commands)


@lru_cache(maxsize=256)
def _is_known_code(code: str) -> bool:
    tree = python_code.parsed(code)
    if tree is None or _ANY_VARIABLE.search(code):
        return False
    return all(module.partition(".")[0] in _MODULES for node in ast.walk(tree) for module in _imported(node))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []

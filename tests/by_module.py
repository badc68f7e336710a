"""How `pytest -n N --dist loadgroup` shares out the tests: one by one, but those that have something in common to one process.

What a fixture of a module's scope starts or plays is then made once, and not by every process. Marks `xdist_group` would say as
much, but pytest-xdist 3.8 does not see them with pytest 9.2.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path

LONG = ("conformance", "e2e", "recipes")
"""Folders below tests/ whose tests take up to minutes."""
_IN_COMMON = re.compile(r'scope="module"|\bends: Ends\b')
"""A fixture of the module; or that of tests/e2e/conftest.py which lives all stories of a module."""


def scope_of(nodeid: str, root: Path) -> str:
    """What the test shares with all that run on the same process; its own name when it shares nothing."""
    path, _, test = nodeid.partition("::")
    if "page/browser/" in path:
        return "page/browser"
    if path.endswith("recipes/test_frameworks.py") and "[" in test:
        parameters = test.partition("[")[2].rstrip("]").split("-")
        return f"{path}::{next((one for one in parameters if ' ' not in one), '')}"
    if "sizing/" in path and "transformers" in test:
        return "sizing/transformers"
    if path.endswith("vectors/test_vectors.py") and "[" in test:
        return f"{path}::{test.partition('[')[2].partition(':')[0]}"
    return path if _has_in_common(root / path) else nodeid


def turn(nodeid: str) -> float:
    """From 0 to 1: when a test runs that shares nothing. The last fifth of a run is for tests that are short."""
    place = zlib.crc32(nodeid.encode()) / 2**32
    return place * 0.8 if nodeid.split("/")[1] in LONG else place


@cache
def _has_in_common(module: Path) -> bool:
    return bool(_IN_COMMON.search(module.read_text(encoding="utf-8")))

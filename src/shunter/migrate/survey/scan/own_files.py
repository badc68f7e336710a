"""Recognizes files that the migration itself wrote, which a scan skips: plans and the files beside them, backups, reports. They
are recognized by content, because folders may have any name.
"""

from __future__ import annotations

import re
from pathlib import Path

from shunter.migrate.own_files import BACKUP_INDEX, PLAN_HEADER
from shunter.migrate.survey.inventory.forms.csv import COLUMNS

_BESIDE_A_PLAN = (".journal", ".definitions", ".patches")
_HEAD = 4096
"""Number of bytes at the beginning of a file that are compared."""
_TAIL = 200
_HEADS = (
    re.compile(re.escape(PLAN_HEADER.partition("\n")[0].encode())),
    re.compile(rb'\{"number":\d+,"step":"[^"]+","phase":"'),  # a journal
    re.compile(rb'\{\s*"schema":\s*"shunter\.migrate\.'),
    re.compile(rb'\{\s*"\$schema":[^{}]*"runs":\s*\[\s*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"shunter"'),
    re.compile(rb'<\?xml[^>]*>\s*<testsuites[^>]*>\s*<testsuite name="shunter migrate: '),
    re.compile(re.escape(",".join(COLUMNS).encode())),  # an inventory
)
_TAILS = re.compile(rb"[Ww]ritten by shunter [\w.+]+\.\s*(</footer>.*)?$", re.DOTALL)
_BACKUP = re.compile(rb"format: \d+\ntool: shunter ")


class OwnFiles:
    """Recognizes files, and checks each folder only once."""

    def __init__(self) -> None:
        self._is_own_folder: dict[Path, bool] = {}

    def has(self, path: Path, content: bytes) -> bool:
        """Whether the migration wrote the file."""
        head, tail = content[:_HEAD], content[-_TAIL:]
        return any(start.match(head) for start in _HEADS) or bool(_TAILS.search(tail)) or self._is_within(path.parent)

    def _is_within(self, folder: Path) -> bool:
        if folder not in self._is_own_folder:
            is_top = folder.parent == folder
            self._is_own_folder[folder] = _is_own_folder(folder) or (not is_top and self._is_within(folder.parent))
        return self._is_own_folder[folder]


def _is_own_folder(folder: Path) -> bool:
    """Whether it is a backup, or belongs to a plan beside it."""
    if folder.suffix in _BESIDE_A_PLAN and _HEADS[0].match(_head(folder.with_suffix(""))):
        return True
    return bool(_BACKUP.match(_head(folder / BACKUP_INDEX)))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""

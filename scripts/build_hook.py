"""Writes the version that a wheel is built with into it, so that `shunter --version` says what pip says."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class VersionHook(BuildHookInterface[Any]):
    """Adds shunter/_version.py to a wheel; an editable install says the version of its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        folder = tempfile.mkdtemp(prefix="shunter-build-")
        self._written = Path(folder, "_version.py")
        self._written.write_text(f'version = "{self.metadata.version}"\n', encoding="utf-8")
        build_data["force_include"][str(self._written)] = "shunter/_version.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._written.unlink()
            self._written.parent.rmdir()

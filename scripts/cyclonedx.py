"""What CycloneDX documents of wheels and releases begin with, and how they name a package. Standard library only."""

from __future__ import annotations

from typing import Any

HEAD: dict[str, Any] = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}


def library(ecosystem: str, name: str, version: str) -> dict[str, Any]:
    """A component, by its package URL."""
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:{ecosystem}/{name}@{version}"}

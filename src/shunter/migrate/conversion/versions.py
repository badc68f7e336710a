"""What the releases of Trainer support (`--target-version`)."""

from __future__ import annotations

from typing import Literal

from shunter.migrate.options import Options

Feature = Literal["activeDeadlineSeconds", "runtimePatches"]
_SINCE: dict[Feature, tuple[int, int]] = {
    "activeDeadlineSeconds": (2, 2),
    "runtimePatches": (2, 2),
}


def target(options: Options) -> tuple[int, int]:
    """The release that is to run the result, as two numbers."""
    major, _, minor = options.target_version.partition(".")
    return int(major), int(minor.partition(".")[0] or 0)


def has(options: Options, feature: Feature) -> bool:
    """Whether the release of `--target-version` knows the feature."""
    return target(options) >= _SINCE[feature]

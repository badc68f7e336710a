"""What a Python program imports from a package, which is loaded when it is asked for, is there."""

from __future__ import annotations

from importlib import import_module

import pytest

NAMES = [(package, name) for package in ("launch", "sizing") for name in import_module(f"shunter.{package}").__all__]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_of_a_package_is_found(package: str, name: str) -> None:
    assert getattr(import_module(f"shunter.{package}"), name).__name__ == name

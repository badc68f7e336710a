"""The table of job kinds: a further kind is one module here and one line below."""

from __future__ import annotations

from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks.pytorch import PyTorch

FRAMEWORKS: tuple[AnyFramework, ...] = (PyTorch(),)


def framework_of(kind: str) -> AnyFramework:
    """The framework of a kind, e.g. `PyTorchJob`. Raises KeyError for a kind that we do not serve."""
    return _BY_KIND[kind]


_BY_KIND = {framework.resource.kind: framework for framework in FRAMEWORKS}

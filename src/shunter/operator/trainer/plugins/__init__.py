"""The table of plugins, in the order in which they change a model: a further one is one module here and one line below."""

from __future__ import annotations

from shunter.operator.trainer.plugin import Plugin
from shunter.operator.trainer.plugins.plainml import PlainML
from shunter.operator.trainer.plugins.torch import Torch

PLUGINS: tuple[Plugin, ...] = (Torch(), PlainML())

POLICIES = ("torch",)
"""The policies of `mlPolicy` that a plugin stands for; a runtime with another one cannot be built yet."""

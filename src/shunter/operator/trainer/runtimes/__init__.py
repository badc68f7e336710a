"""The ClusterTrainingRuntimes that come with us, as upstream ships them: one YAML file each."""

from __future__ import annotations

from importlib import resources

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml


def shipped() -> list[Json]:
    """Every shipped runtime, by name."""
    files = sorted(file.name for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return [load_yaml(resources.files(__name__).joinpath(name).read_text()) for name in files]

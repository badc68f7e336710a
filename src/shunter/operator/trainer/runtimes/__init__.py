"""The ClusterTrainingRuntimes that come with us, as upstream ships them (4.2): one YAML file each."""

from __future__ import annotations

from importlib import resources

import yaml

from shunter.api.meta import Json


def shipped() -> list[Json]:
    """Every shipped runtime, by name."""
    files = sorted(file.name for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return [yaml.load(resources.files(__name__).joinpath(name).read_text(), Loader=yaml.CSafeLoader) for name in files]

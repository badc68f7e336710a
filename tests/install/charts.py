"""The chart as Helm itself renders it: its library from PyPI, no helm binary and no network."""

from pathlib import Path
from typing import Any

import helm_python
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = helm_python.Chart.load(DEPLOY / "chart")

Object = dict[str, Any]


def rendered(values: Object, *, namespace: str = "shunter-system") -> list[Object]:
    """What `helm template` prints for values, without the CRDs. HelmValuesError when the values break the schema."""
    CHART.validate_schema(CHART.merge_values(values))
    files = CHART.render(values, name="shunter", namespace=namespace)
    texts = [text for path, text in files.items() if path.endswith(".yaml")]
    return [found for text in texts for found in yaml.load_all(text, yaml.CSafeLoader) if found]


def by_name(objects: list[Object]) -> dict[tuple[str, str, str], Object]:
    """Objects by kind, namespace and name."""
    found = {(obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in objects}
    assert len(found) == len(objects), "no object stands twice"
    return found

"""Every v1 job of the recordings and examples, however broken: converted and accounted for, or refused by its field; what is not
blocked v2 accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrate.test_properties import converted, lost, refused
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion, framework_of
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

TESTS = Path(__file__).parent.parent
FOLDERS = [TESTS / "recordings" / name for name in ("v1", "v1-volcano", "v1-coscheduling", "admission-v1")]
FILES = sorted(path for folder in [*FOLDERS, TESTS.parent / "examples" / "v1"] for path in folder.rglob("*.yaml"))


def jobs(value: Any) -> Iterator[Json]:
    """The v1 jobs in a value, as far as recordings show them: without status and the times of the cluster."""
    if isinstance(value, dict):
        if framework_of(SourceObject(value, "")) and "spec" in value:
            metadata = {key: field for key, field in (value.get("metadata") or {}).items() if not key.endswith("Timestamp")}
            yield {key: field for key, field in value.items() if key != "status"} | {"metadata": metadata}
        for inner in value.values():
            yield from jobs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from jobs(inner)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("options", [Options(), Options(gang="volcano", elastic_nodes="max")], ids=["plainly", "with options"])
def test_recorded_job_is_converted_or_refused_by_its_field(path: Path, options: Options) -> None:
    for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
        for job in jobs(document):
            outcome = converted_or_refused(job, options)
            if isinstance(outcome, UnreadableJobError):
                assert outcome.path
            else:
                assert lost(job, outcome) == []
                assert refused(outcome) == []


def converted_or_refused(job: Json, options: Options) -> Conversion | UnreadableJobError:
    try:
        return converted(job, options)
    except UnreadableJobError as error:
        return error

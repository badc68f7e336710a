"""Cases of the migration, as files under tests/scenarios/migrate/AREA/:

    CASE.yaml        the input; its first comment line says what it is about, a line `# options: {...}` sets Options (camelCase)
    CASE.out.yaml    what `shunter migrate convert` prints of the jobs; not there when all of them are blocked
    CASE.findings    what it tells, a line each: LINE:COLUMN ID MESSAGE, `(accepted)` where --accept took it on

After a change of the tool, or for a new case, write the expectations anew and READ what was written:

    .venv/bin/python tests/migrate_scenarios.py tests/scenarios/migrate/run-policy [FILE_OR_DIRECTORY ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from shunter.migrate import batch
from shunter.migrate.conversion import framework_of
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.source.objects import SourceObject

CASES = Path(__file__).parent / "scenarios" / "migrate"
OPTIONS = "# options:"


class Expectation(NamedTuple):
    out: str
    findings: str


def cases(root: Path = CASES) -> list[Path]:
    """The inputs, sorted."""
    files = [root] if root.is_file() else root.rglob("*.yaml")
    return sorted(path for path in files if not path.name.endswith(".out.yaml"))


def options_of(case: Path) -> Options:
    lines = case.read_text().splitlines()
    said = next((line.removeprefix(OPTIONS) for line in lines if line.startswith(OPTIONS)), "{}")
    return msgspec.convert(yaml.safe_load(said), Options)


def expected(case: Path) -> Expectation:
    out, findings = _expectation_files(case)
    return Expectation(out.read_text() if out.exists() else "", findings.read_text())


def seen(case: Path) -> Expectation:
    objects = list(_objects(case))
    jobs = [source for source in objects if framework_of(source)]
    others = [source.value for source in objects if not framework_of(source)]
    converted = batch.converted(jobs, options_of(case), others)
    manifests = []
    for outcome in converted.outcomes:
        if outcome.conversion is not None and not outcome.is_blocked:
            manifests += [outcome.conversion.runtime, outcome.conversion.train_job]
    known = [manifest for manifest in manifests if manifest is not None]
    out = yaml.dump_all(known, Dumper=yaml.CSafeDumper, sort_keys=False, width=160) if known else ""
    return Expectation(out, "".join(f"{_told(finding)}\n" for finding in converted.findings))


def write(case: Path) -> None:
    """The expectations as the tool meets them now."""
    out, findings = _expectation_files(case)
    now = seen(case)
    findings.write_text(now.findings)
    if now.out:
        out.write_text(now.out)
    else:
        out.unlink(missing_ok=True)


def _expectation_files(case: Path) -> tuple[Path, Path]:
    return case.with_suffix(".out.yaml"), case.with_suffix(".findings")


def _told(finding: Finding) -> str:
    accepted = " (accepted)" if finding.suppressed else ""
    return f"{finding.place.line}:{finding.place.column} {finding.topic.id} {finding.message}{accepted}"


def _objects(case: Path) -> Iterator[SourceObject]:
    loader = yaml.CSafeLoader(case.read_text())
    while loader.check_node():
        node = loader.get_node()
        yield SourceObject(loader.construct_document(node), case.name, node)


if __name__ == "__main__":
    for root in sys.argv[1:]:
        for case in cases(Path(root)):
            write(case)
            print(case)

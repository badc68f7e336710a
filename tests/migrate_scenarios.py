"""Cases of the migration, as files under tests/scenarios/migrate/AREA/:

    CASE.yaml        the input; its first comment line says what it is about, a line `# options: {...}` sets Options
                     (camelCase), a line `# --mpi-operator` takes MPIJobs of mpi-operator for jobs, `# --update-selectors`
                     rewrites selectors
    CASE.out.yaml    what `shunter migrate convert` prints; not there when all of its jobs are blocked
    CASE.findings    what it tells, a line each: LINE:COLUMN ID MESSAGE, `(accepted)` where --accept took it on

After a change of the tool, or for a new case, write the expectations anew and READ what was written:

    .venv/bin/python tests/migrate_scenarios.py tests/scenarios/migrate/run-policy [FILE_OR_DIRECTORY ...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.gitops import helm
from shunter.migrate.conversion.provenance import MADE_BY
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.survey.neighbours.checks import neighbours

CASES = Path(__file__).parent / "scenarios" / "migrate"
OPTIONS = "# options:"
UPDATE_SELECTORS = "# --update-selectors"
MPI_OPERATOR = "# --mpi-operator"


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
    return Expectation(out.read_bytes().decode() if out.exists() else "", findings.read_text())


def converted_jobs(case: Path) -> batch.Batch:
    return converted_case(case)[1]


def converted_case(case: Path) -> tuple[Input, batch.Batch]:
    """What is given in the case, and what its jobs become."""
    given = _given(case)
    return given, _converted(given, options_of(case))


def _given(case: Path) -> Input:
    text = case.read_bytes().decode()
    return Input((text_file(text, case.name),), mpi_operator=MPI_OPERATOR in text)


def _converted(given: Input, options: Options) -> batch.Batch:
    return shared_in(given, batch.converted(given.convertible, options, [source.value for source in given.others]))


def seen(case: Path, given: Input, converted: batch.Batch) -> Expectation:
    """What the tool prints of a converted case."""
    templates, told = helm.skeletons(given.templates, options_of(case))
    beside = neighbours(given, converted, update_selectors=UPDATE_SELECTORS in given.files[0].text)
    templates = {**templates, **beside.texts}
    out = files.stream(given, converted, templates) if files.usable(converted) or templates else ""
    out = out.replace(MADE_BY, "shunter/VERSION")
    return Expectation(
        out, "".join(f"{_told(finding)}\n" for finding in [*given.findings, *told, *beside.findings, *converted.findings])
    )


def write(case: Path) -> None:
    """The expectations as the tool meets them now."""
    out, findings = _expectation_files(case)
    now = seen(case, *converted_case(case))
    findings.write_text(now.findings)
    if now.out:
        out.write_bytes(now.out.encode())
    else:
        out.unlink(missing_ok=True)


def _expectation_files(case: Path) -> tuple[Path, Path]:
    return case.with_suffix(".out.yaml"), case.with_suffix(".findings")


def _told(finding: Finding) -> str:
    accepted = " (accepted)" if finding.suppressed else ""
    return f"{finding.place.line}:{finding.place.column} {finding.topic.id} {finding.message}{accepted}"


if __name__ == "__main__":
    for root in sys.argv[1:]:
        for case in cases(Path(root)):
            write(case)
            print(case)

"""Programs among the values of a chart: templates put them into jobs, where only an expression is seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import PurePath

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands import python_reads, shell_reads
from shunter.migrate.conversion.commands.python_code import is_python_code
from shunter.migrate.conversion.commands.reads import HOST_NAME, HOSTS_FILE, Read, line_of
from shunter.migrate.conversion.rules.programs.pod_reads import DECIDES, READS
from shunter.migrate.conversion.source.documents import Document
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.paths import leaves

_MAY_BE_A_PROGRAM = late_pattern(r"[\s$(`]")
_IN_V1_AND_V2 = "JOB-worker-0 in v1, JOB-node-0-1 in v2"


def reads_in_values(files: Iterable[TextFile], templates: Iterable[Document]) -> list[Finding]:
    """What values of the charts that hold these templates read of their pods, each value once. Which of them a template puts
    into a job is not known, so no pod is named."""
    charts = {chart for document in templates if (chart := _chart_of(PurePath(document.source)))}
    return [
        finding
        for file in files
        if PurePath(file.source).parent in charts and fnmatchcase(PurePath(file.source).name, "values*.y*ml")
        for document in file.documents
        for finding in _of_document(document)
    ]


def _chart_of(template: PurePath) -> PurePath | None:
    """The directory of the chart whose template this is; None for a file that is in no directory `templates`."""
    return next((folder.parent for folder in template.parents if folder.name == "templates"), None)


def _of_document(document: Document) -> Iterator[Finding]:
    if not isinstance(document.value, dict):
        return
    values = SourceObject(document.value, document.source, document.node, document.first_line)
    for path, text in leaves(document.value):
        if not isinstance(text, str) or not _MAY_BE_A_PROGRAM.search(text):
            continue
        reads = [read for read in _reads(text) if read.name in (HOST_NAME, HOSTS_FILE)]
        first = next((read for read in reads if read.decides), reads[0] if reads else None)
        if first:
            topic = DECIDES if first.decides else READS
            says = f"{line_of(text, first.start)!r} {'decides by' if first.decides else 'reads'} the host name, {_IN_V1_AND_V2}."
            yield Finding(topic, document.source, values.place(path), path, says)


def _reads(text: str) -> list[Read]:
    variables = {"HOSTNAME": HOST_NAME}
    if is_python_code(text):
        return python_reads.reads(text, variables, shell_reads.reads)
    return shell_reads.reads(text, variables)

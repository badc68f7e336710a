"""Programs of the pods that ask the cluster for what v1 made: by its labels, its kinds, its conditions, through kubectl or curl.

What shows it in a line is the business of the scan, whose patterns these are.
"""

from __future__ import annotations

from shunter.migrate.draft import Draft
from shunter.migrate.findings import Topic
from shunter.migrate.launch.arguments import Spot
from shunter.migrate.launch.pod_reads import words_and_texts
from shunter.migrate.launch.reads import line_of
from shunter.migrate.rules.programs import Programs, all_programs, place, shortened
from shunter.migrate.scan import text as scan_text

ASKS = Topic(
    id="HOST012",
    title="a program asks the cluster for what v1 made",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "The program selects pods by labels of v1, or looks for v1's jobs or their conditions. Pods of v2 have other labels, and "
        "the job is a TrainJob: the program finds nothing, and takes that for an answer or waits for ever."
    ),
    remedy=(
        "Select by jobset.sigs.k8s.io/jobset-name and batch.kubernetes.io/job-completion-index, ask for trainjobs; --v1-labels "
        "gives pods the labels of v1 as well."
    ),
    effort=1,
    traps=("T21", "NX23"),
    explains=("none",),
    limits_proof=True,
)
_ASKED = (scan_text.LABEL, scan_text.REQUEST, scan_text.COMMAND, scan_text.CONDITION)


def apply(draft: Draft) -> None:
    """Tells of each text once for each thing that it asks for."""
    asked = [topic for topic in _ASKED if topic is not scan_text.LABEL or not draft.options.v1_labels]
    rules = [rule for rule in scan_text.RULES if rule.topic in asked]
    for programs in all_programs(draft):
        for text, spot in words_and_texts(programs.container, programs.volumes, draft.config_map):
            for rule in rules:
                if match := rule.pattern.search(text):
                    _report(draft, programs, text, spot, match.start(), rule.message.format(match[0]))


def _report(draft: Draft, programs: Programs, text: str, spot: Spot, start: int, says: str) -> None:
    path, offset = place(programs, spot, spot.start + start)
    where = f"{spot.file}, {spot.path[-1]}: " if spot.file else ""
    draft.report(ASKS, path, f"{where}{shortened(line_of(text, start))!r}: {says}", offset=offset)

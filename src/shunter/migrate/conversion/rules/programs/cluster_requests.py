"""Programs of the pods that ask the cluster for what v1 made: by labels, kinds, conditions and names, with kubectl or an API.

What shows v1 in a line is the business of the scan, whose patterns these are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.arguments import Spot
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, first_match, place, quoted
from shunter.migrate.findings import Topic
from shunter.migrate.v1_texts import rules as scan_text

ASKS = Topic(
    id="HOST012",
    title="a program queries the cluster for v1 objects",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The program queries the API server by v1 labels or names, or for v1 jobs or their conditions. In v2 the pods have "
        "other labels and owners, their names end in random characters, and the job is a TrainJob: the program finds nothing, "
        "and continues without a result or waits forever."
    ),
    remedy=(
        "Select by jobset.sigs.k8s.io/jobset-name and batch.kubernetes.io/job-completion-index, and query trainjobs; "
        "--v1-labels also adds the v1 labels to pods."
    ),
    explains=("none",),
    limits_proof=True,
)
NAMES_A_POD = Topic(
    id="HOST015",
    title="a program queries the cluster for a pod by its v1 name",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program passes a v1 pod name to kubectl or the API server. In v1 a pod, and a Service, is named JOB-worker-0; in "
        "v2 the pod's name ends in random characters, JOB-node-0-1-x7k2p, and no Service has it: the program finds nothing."
    ),
    remedy=(
        "Select the pod by jobset.sigs.k8s.io/jobset-name and batch.kubernetes.io/job-completion-index; then "
        "suppress with --accept HOST015."
    ),
    effort=3,
    acceptable=True,
    limits_proof=True,
)
_CLIENT = late_pattern(
    r"\bkubectl\b|\boc\s+(?:get|exec|logs|wait)\b|\bkubernetes\.default\b|\b(?:import|from)\s+(?:kubernetes|lightkube|kr8s)\b"
    r"|\b(?:import|from)\s+(?:kubernetes_asyncio|pykube|kopf|dask_kubernetes)\b|\bKubernetesClusterResolver\b"
    r"|\bKUBERNETES_SERVICE_HOST\b|/serviceaccount/token\b"
)
_MAY_ASK = late_pattern(r"kube|\boc\b|training|condition|status|wait|kr8s", re.IGNORECASE)
"""Most texts ask for nothing."""
_OWNERS = late_pattern(r"\bowner_?references\b", re.IGNORECASE)
_OF_A_POD = r"(?:\b(?:kubectl|oc)\b(?:(?!\b(?:kubectl|oc)\b)[^\n|;&])*?[\s/]|/(?:pods|services|endpoints)/)"
_ASKS_AT_ALL = "it queries the cluster, where pods, their labels and their owners differ in v2."
_ASKED = (scan_text.LABEL, scan_text.REQUEST, scan_text.COMMAND, scan_text.CONDITION)


def apply(draft: Draft) -> None:
    """Tells of each text once for each thing that it asks for."""
    asked = [topic for topic in _ASKED if topic is not scan_text.LABEL or not draft.options.v1_labels]
    rules = [rule for rule in scan_text.RULES if rule.topic in asked]
    for programs in all_programs(draft):
        texts = programs.texts
        asks = [(text, spot, start, says) for text, spot in texts for start, says in _asks(draft, text, rules)]
        named = [(text, spot, *found) for text, spot in texts if (found := _named(draft, text))]
        for text, spot, start, says in named:
            _report(draft, NAMES_A_POD, programs, text, spot, start, says)
        if not asks and not named:
            clients = ((text, spot, match.start()) for text, spot in texts if (match := first_match(_CLIENT, text)))
            asks = [(*client, _ASKS_AT_ALL) for client in islice(clients, 1)]
        for text, spot, start, says in asks:
            _report(draft, ASKS, programs, text, spot, start, says)


def _asks(draft: Draft, text: str, rules: list[scan_text.Rule]) -> Iterator[tuple[int, str]]:
    """What the text asks for of v1, and where."""
    if not first_match(_MAY_ASK, text):
        return
    for rule in rules:
        if match := rule.pattern.search(text):
            yield match.start(), rule.message.format(match[0])
    if (match := _OWNERS.search(text)) and first_match(_CLIENT, text):
        yield match.start(), f"a pod's owner is the {draft.kind} in v1 and a Job of the JobSet in v2."


def _named(draft: Draft, text: str) -> tuple[int, str] | None:
    """Where the text asks for a pod by name, and what that is in v2."""
    if not first_match(_CLIENT, text):
        return None
    for match in re.finditer(rf"{_OF_A_POD}(?P<name>{re.escape(draft.job.name)}-[a-z]+(?:-[0-9]+)?)(?![\w-])", text):
        if match["name"] in draft.hosts:
            new = draft.host(*draft.hosts[match["name"]]).partition(".")[0]
            return match.start("name"), f"no pod or Service is called {match['name']} in v2, the pod is {new}-x7k2p."
    return None


def _report(draft: Draft, topic: Topic, programs: Programs, text: str, spot: Spot, start: int, says: str) -> None:
    path, offset = place(programs, spot, spot.offset(start))
    draft.report(topic, path, f"{quoted(text, start, spot)}: {says}", offset=offset)

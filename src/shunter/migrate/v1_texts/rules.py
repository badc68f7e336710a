"""What a line of any file shows: commands, labels, host names, ports, metrics, paths of requests. The first rule that matches a
part of a line has it; what the syntax tree or the objects of a file have shown already is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.migrate.excerpts import excerpt
from shunter.migrate.findings import Topic
from shunter.migrate.v1_texts.reference import ANY_KIND, ANY_PLURAL, WORDS, Reference

QUOTA = Topic(
    id="SCAN010",
    title="a quota that counts v1 jobs",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "ResourceQuota counts objects by plural and group. A limit on v1 jobs does not limit TrainJobs: after the migration a "
        "team may start any number."
    ),
    remedy="Add count/trainjobs.trainer.kubeflow.org with the same number; remove the old line when v1 is removed.",
)
KUEUE_FRAMEWORK = Topic(
    id="SCAN011",
    title="a Kueue framework of v1",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "Kueue manages the kinds that its configuration lists under integrations.frameworks. TrainJobs need their own entry; "
        "without it Kueue neither queues nor admits them."
    ),
    remedy="Add trainer.kubeflow.org/trainjob to the list; keep the v1 entries as long as v1 jobs run.",
)
METRIC = Topic(
    id="SCAN012",
    title="a metric of the v1 operator",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "Only the v1 operator exports training_operator_jobs_*. They do not count TrainJobs, so alerts on them never fire and "
        "panels are empty."
    ),
    remedy=(
        "Count TrainJobs by their conditions (kube-state-metrics with a custom resource state for "
        "trainjobs.trainer.kubeflow.org), or use the jobset metrics of JobSet's controller."
    ),
    effort=3,
)
LABEL = Topic(
    id="SCAN013",
    title="a label of v1 pods",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "v1 pods have training.kubeflow.org/* labels; v2 pods have labels of JobSet and Job. A selector on the old labels "
        "matches nothing, without an error: policies do not apply, queries are empty."
    ),
    remedy="Select by jobset.sigs.k8s.io/jobset-name=<job>; the rank is batch.kubernetes.io/job-completion-index.",
)
REQUEST = Topic(
    id="SCAN014",
    title="a request to the v1 API",
    severity="warning",
    change="manual",
    grade="N",
    explanation="The program requests objects of kubeflow.org/v1 from the API server; migrated jobs are not among them.",
    remedy="Request /apis/trainer.kubeflow.org/v1alpha1/.../trainjobs; the object has other fields.",
    effort=3,
)
CONDITION = Topic(
    id="SCAN015",
    title="a wait for a state that TrainJobs do not have",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "v1 jobs have the conditions Created, Running, Restarting, Succeeded and Failed, and counts in "
        "status.replicaStatuses. A TrainJob has Suspended, Complete and Failed, and none while it runs: a "
        "script that waits for Succeeded waits forever."
    ),
    remedy="Wait for condition=Complete (or Failed) of the trainjob.",
)
COMMAND = Topic(
    id="SCAN016",
    title="a command about v1 jobs",
    severity="warning",
    change="manual",
    grade="N",
    explanation="The command names a v1 kind, so it does not see, or cannot change, migrated jobs.",
    remedy="Use trainjobs instead.",
)
GO_CODE = Topic(
    id="SCAN017",
    title="Go code that uses the v1 API's types",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "The package contains types and clients of kubeflow.org/v1; those of TrainJob are in github.com/kubeflow/trainer/v2."
    ),
    remedy="Import github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1 and its client.",
    effort=5,
)
INSTALLATION = Topic(
    id="SCAN018",
    title="an installation of the v1 operator",
    severity="info",
    other_impact="advisory",
    change="manual",
    grade="N",
    explanation="The file installs, or refers to, the v1 Training Operator, which must stay as long as v1 jobs run.",
    remedy="Install v2 beside it; remove v1 as the last step, but never its MPIJob CRD while mpi-operator uses it.",
)
DEPENDENCY = Topic(
    id="SCAN019",
    title="a dependency on the v1 SDK",
    severity="warning",
    change="manual",
    grade="N",
    explanation="kubeflow-training is the SDK of v1; that of v2 is the package kubeflow.",
    remedy="Depend on kubeflow>=0.5 and move the calls (see the other findings of this scan).",
)
PORT = Topic(
    id="SCAN020",
    title="the port of v1's rendezvous",
    severity="warning",
    change="manual",
    grade="N",
    explanation="v1 sets MASTER_PORT 23456 in PyTorchJobs; in v2 the rendezvous is at port 29500 of rank 0.",
    remedy="Read the port from MASTER_PORT or PET_MASTER_PORT, or use 29500; allow it in policies.",
)
HOST = Topic(
    id="SCAN021",
    title="the name of a v1 pod or service",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "v1 pods and their services are named <job>-master-0, <job>-worker-1. In v2 a pod's host name is "
        "<job>-node-0-<rank>.<job>, and the pod's own name ends in random characters."
    ),
    remedy="Use <job>-node-0-<rank>.<job> as the host name; find pods by label, not by name.",
)
MAYBE_HOST = Topic(
    id="SCAN022",
    title="a name that may be a v1 pod's",
    severity="info",
    change="manual",
    grade="E",
    explanation="The name ends like the name of a v1 pod, but nothing else in the file refers to training jobs.",
    remedy="If it is a pod of a v1 job: see SCAN021. Otherwise nothing.",
    effort=0,
)
MENTION = Topic(
    id="SCAN023",
    title="a mention of v1 kinds",
    severity="info",
    other_impact="advisory",
    change="manual",
    grade="N",
    explanation="The file names v1 kinds in a way that no other rule covers: documentation, dashboards, other programs.",
    remedy="Check whether it must also name TrainJob.",
)

LABELS_OF_V2 = {
    "job-name": "jobset.sigs.k8s.io/jobset-name",
    "replica-type": "jobset.sigs.k8s.io/replicatedjob-name (node, or the v1 role where roles differ)",
    "replica-index": "batch.kubernetes.io/job-completion-index",
    "job-role": "batch.kubernetes.io/job-completion-index (the master is 0)",
}
"""What pods carry in place of `training.kubeflow.org/KEY`."""
_SPOKEN_OF = late_pattern(rf"{ANY_KIND}|{ANY_PLURAL}|kubeflow|torchrun|MASTER_ADDR|MASTER_PORT|23456|TF_CONFIG", re.I)


_VERBS = "get|describe|delete|apply|create|patch|edit|wait|logs|label|annotate|scale|explain|auth|replace|watch|top"
# A line may be a whole program in a few megabytes: what lies between two words has an end in every pattern.
_COMMAND = late_pattern(
    rf"\b(?:kubectl|oc|k)\s+(?:-\S+\s+(?:[^-\s]\S*\s+)?)*(?:{_VERBS})\b"
    rf"[^\n|;&]{{0,400}}?\b(?:{ANY_PLURAL}|{ANY_KIND})(?:\.kubeflow\.org)?\b",
    re.I,
)


class Rule(NamedTuple):
    """A pattern of lines, and what is reported of a line that it matches."""

    topic: Topic
    pattern: re.Pattern[str]
    message: str
    """`{}` is what matched, or its first group."""


RULES = (
    Rule(QUOTA, late_pattern(rf"\bcount/{ANY_PLURAL}\.kubeflow\.org\b"), "{} limits v1 jobs only."),
    Rule(
        REQUEST,
        late_pattern(rf"apis/kubeflow\.org/v1/(?:namespaces/[^/\s\"']+/)?{ANY_PLURAL}\b"),
        "{} is asked for v1 jobs only.",
    ),
    Rule(METRIC, late_pattern(r"\btraining_operator_\w+"), "{} counts v1 jobs only."),
    Rule(
        LABEL,
        # Escaped as in jsonpath and regular expressions, or as in JSON patches.
        late_pattern(r"\btraining\\*\.kubeflow\\*\.org(?:\\*/|~1)[a-z-]+|\b(?:label_)?training_kubeflow_org_\w+"),
        "{} is on no pod of v2.",
    ),
    Rule(
        CONDITION,
        late_pattern(
            rf"--for[= ]+[\"']?condition=(?:Succeeded|Running|Created|Restarting)\b"
            rf"|status\.replicaStatuses\.\w+|\bwait\b[^\n]{{0,200}}?{ANY_PLURAL}[^\n]{{0,200}}?condition=(?!Failed|Suspended)\w+",
            re.I,
        ),
        "{}: no TrainJob gets there.",
    ),
    Rule(COMMAND, _COMMAND, "`{}` does not see jobs that have moved."),
    Rule(KUEUE_FRAMEWORK, late_pattern(rf"\bkubeflow\.org/(?=[a-z]){ANY_KIND.lower()}\b"), "{} is the framework of v1 jobs."),
    Rule(GO_CODE, late_pattern(r"github\.com/kubeflow/training-operator/pkg/[\w./-]+"), "{} holds v1 types."),
    Rule(INSTALLATION, late_pattern(r"\bkubeflow/training-operator\b(?:[\w./:@?=-]*\w)?"), "{} is the v1 operator."),
    Rule(DEPENDENCY, late_pattern(r"\bkubeflow-(?:training|tfjob|pytorchjob)\b"), "{} is the SDK of v1."),
    Rule(
        PORT,
        late_pattern(r"(?i:port\W{0,12}|:|=\s*[\"']?|[\"']\s*,\s*|(?<=-0 ))(23456)(?!\d)"),
        "Port 23456 is that of v1's rendezvous.",
    ),
)
_HOST = late_pattern(
    r"(?<![\w-])[\w.${}()-]{0,253}[\w})]-(?:(?:master|chief)-0|(?:worker|ps|evaluator)-\d+|launcher(?=[\s\"'.:/,)]|$))(?![\w-])"
)
_MENTION = late_pattern(rf"\b{ANY_KIND}s?\b|\b{ANY_PLURAL}\b|\b(?i:{ANY_KIND})\.kubeflow\.org\b")


def references(text: str, reported: Iterable[Reference], *, skipped: Iterable[range] = ()) -> Iterator[Reference]:
    """What the lines show. Lines of `skipped` (from 1) are left out, and those that `reported` is about."""
    left_out = {reference.line for reference in reported}
    for lines in skipped:
        left_out.update(lines)
    host_topic, host_says = HOST, "{} is the name of a v1 pod and its service."
    if not _SPOKEN_OF.search(text):
        host_topic, host_says = MAYBE_HOST, "{} may be the name of a v1 pod."
    mentions: list[Reference] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number in left_out or not _may_speak_of_v1(line):
            continue
        taken = bytearray(len(line))
        for rule in RULES:
            for match in rule.pattern.finditer(line):
                if _is_free(match, taken):
                    yield _reference(rule.topic, number, match, rule.message, _remedy(rule.topic, match[0]))
        for match in _HOST.finditer(line):
            if _is_free(match, taken):
                yield _reference(host_topic, number, match, host_says, "")
        mentions += [
            _reference(MENTION, number, match, "{} is a kind of v1.", "")
            for match in _MENTION.finditer(line)
            if _is_free(match, taken)
        ]
    if mentions:
        others = f" So do {len(mentions) - 1} more places of this file." if len(mentions) > 1 else ""
        yield mentions[0]._replace(message=mentions[0].message + others)


def _may_speak_of_v1(line: str) -> bool:
    lowered = line.lower()
    return any(word in lowered for word in WORDS)


def _remedy(topic: Topic, found: str) -> str:
    if topic is LABEL:
        key = re.split(r"/|~1|_org_", found, maxsplit=1)[1].replace("_", "-")
        if key in LABELS_OF_V2:
            return f"In its place pods of v2 carry {LABELS_OF_V2[key]}."
    return ""


def _is_free(match: re.Match[str], taken: bytearray) -> bool:
    """Whether no earlier rule has a part of it; if so it is taken now."""
    if taken.find(1, match.start(), match.end()) >= 0:
        return False
    taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    return True


def _reference(topic: Topic, line: int, match: re.Match[str], message: str, remedy: str) -> Reference:
    group = 1 if match.re.groups else 0
    found = match[group]
    return Reference(topic, line, match.start(group) + 1, len(found), message.format(excerpt(found)), remedy)

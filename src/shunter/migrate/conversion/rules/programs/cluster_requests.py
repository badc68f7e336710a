"""Programs of the pods that ask the cluster for what v1 made: by labels, kinds, conditions and names, with kubectl or an API.

What shows v1 in a line is the business of the scan, whose patterns these are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import SourceRange
from shunter.migrate.conversion.commands.reads import line_of
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.peers.cluster_results import CLIENT, may_ask_for_job
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import is_of_any_service, made_of
from shunter.migrate.conversion.rules.programs.peers.peer_services import is_unseen, of_service, own_names
from shunter.migrate.conversion.rules.programs.peers.peer_texts import VARIABLE, Text, made, read, resolved, value_of
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, first_match, place, quoted
from shunter.migrate.findings import Topic
from shunter.migrate.v1_texts import rules as scan_text
from shunter.migrate.v1_texts.reference import ANY_KIND, ANY_PLURAL

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
DECIDES = Topic(
    id="HOST030",
    title="a rank, or a number of ranks or shards, is taken from the cluster's answer",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program asks the API server for pods, endpoints or v1 jobs, and takes their count, or a field of the job, for a "
        "number of processes or shards, or the position of a pod for a rank: `WORLD_SIZE=$(kubectl get pods -l "
        "training.kubeflow.org/job-name=JOB -o name | wc -l)`; or sets by it how each process trains: `lr * len(pods.items)`. In "
        "v2 such a selector finds no pod, pods have other names, and there is no v1 job: the number is 0, or the program fails."
    ),
    remedy=(
        "Take the number from a variable that v1 and v2 both set, as WORLD_SIZE, or select by jobset.sigs.k8s.io/jobset-name; "
        "--v1-labels also adds the v1 labels to pods. Suppress with --accept HOST030 if as many are found in v2."
    ),
    effort=3,
    acceptable=True,
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
_MAY_ASK = late_pattern(r"kube|\boc\b|training|condition|status|wait|kr8s", re.IGNORECASE)
"""Most texts ask for nothing."""
_OWNERS = late_pattern(r"\bowner_?references\b", re.IGNORECASE)
_OF_A_POD = r"(?:\b(?:kubectl|oc)\b(?:(?!\b(?:kubectl|oc)\b)[^\n|;&])*?[\s/]|/(?:pods|services|endpoints)/)"
_MAY_COUNT = late_pattern(r"kubectl|\boc\s|/apis?/|_namespaced_|_for_all_namespaces|labels?=|selector=|_custom_object|Namespaced")
_LONGEST = 600
"""Characters of a request that are read, with what is made of it in its line."""
_MOST_VALUES = 20
_SELECTOR = late_pattern(
    r"(?:(?<=\s)-l[ \t=]*|--selector[ \t=]+|\blabel_?[sS]elector[\"']?\s{0,9}[=:]\s{0,9}|\b(?:labels|selector)=)"
    r"(?P<key>[^\s,)|;=!]{1,200})"
)
"""By which labels a request selects, up to the first value."""
_ENDPOINTS = late_pattern(
    r"(?:\bget\s+(?:endpoints?|ep|svc|services?)[ \t/]+|/(?:endpoints|services)/"
    r"|read_namespaced_(?:endpoints|service)\(\s{0,20}(?:name=)?)"
    r"(?P<name>[^\s,)|;-][^\s,)|;/]{0,200})"
)
_V1_JOB = late_pattern(rf"(?i:\b(?:{ANY_KIND}|{ANY_PLURAL}))\b")
_ASKS_AT_ALL = "it queries the cluster, where pods, their labels and their owners differ in v2."
_ASKED = (scan_text.LABEL, scan_text.REQUEST, scan_text.COMMAND, scan_text.CONDITION)


def apply(draft: Draft) -> None:
    """Reports each text once for each thing that it asks for."""
    asked = [topic for topic in _ASKED if topic is not scan_text.LABEL or not draft.options.v1_labels]
    rules = [rule for rule in scan_text.RULES if rule.topic in asked]
    for programs in all_programs(draft):
        texts = programs.texts
        asks = [(text, spot, start, says) for text, spot in texts for start, says in _asks(draft, text, rules)]
        decided = {}
        for text, spot in texts:
            if (number := _decided(draft, programs, text, spot, rules)) is not None:
                decided[id(text)] = number
                _report(draft, DECIDES, programs, text, spot, *number)
        asks = [(text, spot, start, says) for text, spot, start, says in asks if not _is_told(text, start, decided.get(id(text)))]
        named = [(text, spot, *found) for text, spot in texts if (found := _named(draft, text))]
        for text, spot, start, says in named:
            _report(draft, NAMES_A_POD, programs, text, spot, start, says)
        if not asks and not named and not decided:
            clients = ((text, spot, may_ask_for_job(draft, text)) for text, spot in texts)
            asks = [*islice(((text, spot, at, _ASKS_AT_ALL) for text, spot, at in clients if at is not None), 1)]
        for text, spot, start, says in asks:
            _report(draft, ASKS, programs, text, spot, start, says)


def _asks(draft: Draft, text: str, rules: list[scan_text.Rule]) -> Iterator[tuple[int, str]]:
    """What the text asks for of v1, and where."""
    if not first_match(_MAY_ASK, text):
        return
    for rule in rules:
        if match := rule.pattern.search(text):
            yield match.start(), rule.message.format(match[0])
    if (match := _OWNERS.search(text)) and first_match(CLIENT, text):
        yield match.start(), f"a pod's owner is the {draft.kind} in v1 and a Job of the JobSet in v2."


def _is_told(text: str, start: int, decided: tuple[int, str] | None) -> bool:
    return decided is not None and "\n" not in text[min(start, decided[0]) : max(start, decided[0])]


def _decided(
    draft: Draft, programs: Programs, text: str, spot: SourceRange, rules: list[scan_text.Rule]
) -> tuple[int, str] | None:
    """Where the text asks for what v2 has otherwise, and makes a number of ranks or shards of the answer."""
    if not first_match(_MAY_COUNT, text):
        return None
    found, program = made(draft, programs, text, spot), read(text, programs.container)
    for start in sorted(found.requests & found.numbers.keys()):
        number = found.numbers[start]
        if says := _differs(draft, program, start, rules, is_sure=not is_of_any_service(number)):
            return start, f"{says}; {number} is made of the answer's {made_of(number)}."
    return None


def _differs(draft: Draft, text: Text, start: int, rules: list[scan_text.Rule], *, is_sure: bool) -> str:
    """What the request that stands there asks for that v2 has otherwise; empty for nothing. `is_sure` of a number that only
    processes of a training have: then what is not known counts, too."""
    written = line_of(text.code[start : start + _LONGEST], 0)
    whole = "\n".join([written, *_values(text, written)])
    for rule in rules:
        if match := rule.pattern.search(whole):
            return rule.message.format(match[0]).rstrip(".")
    if match := _V1_JOB.search(whole):
        return f"{match[0]} is a kind of v1 jobs, and the job is a TrainJob in v2"
    if match := _ENDPOINTS.search(written):
        name, is_known = resolved(text, match["name"])
        is_own = name in draft.hosts or name in own_names(draft)
        if is_known and (is_own or (is_sure and is_unseen(draft, name))):
            return f"it asks for {of_service(draft, name) or f'{name}, which only v1 has'}"
        return ""
    if match := _SELECTOR.search(written):
        key, is_known = resolved(text, match["key"])
        is_open = not is_known or (key == match["key"] and key.isidentifier()) or bool(VARIABLE.search(key))
        return "it selects by labels that are not known here" if is_open and is_sure and not draft.options.v1_labels else ""
    # What the program asks of each pod that was found.
    if any(rule.topic is scan_text.LABEL and rule.pattern.search(text.code) for rule in rules):
        return "it reads labels of v1, which no pod of v2 has"
    roles = "|".join(role.lower() for role in draft.job.replicas if role.lower() not in {group.name for group in draft.groups})
    in_command = rf"(?<!-)-(?:{roles})(?![a-z_])|\bgrep\b[^|\n]{{0,100}}\b(?:{roles})\b"
    in_code = rf"[\"'][\w.{{}}-]{{0,60}}(?<!-)-(?:{roles})-?\d{{0,4}}[\"']"
    if roles and (match := re.search(in_command, whole) or re.search(in_code, text.code)):
        return f"{match[0]} is in no pod's name in v2"
    return ""


def _values(text: Text, written: str) -> list[str]:
    """What the variables hold that stand there, and those in their values."""
    found: dict[str, str] = {}
    waiting = re.findall(r"[A-Za-z_]\w*", written)
    while waiting and len(found) < _MOST_VALUES:
        name = waiting.pop()
        value = None if name in found else value_of(text, name) or text.values.get(name)
        if value:
            found[name] = value
            waiting += re.findall(r"[A-Za-z_]\w*", value)
    return [*found.values()]


def _named(draft: Draft, text: str) -> tuple[int, str] | None:
    """Where the text asks for a pod by name, and what that is in v2."""
    if not first_match(CLIENT, text):
        return None
    for match in re.finditer(rf"{_OF_A_POD}(?P<name>{re.escape(draft.job.name)}-[a-z]+(?:-[0-9]+)?)(?![\w-])", text):
        if match["name"] in draft.hosts:
            new = draft.host(*draft.hosts[match["name"]]).partition(".")[0]
            return match.start("name"), f"no pod or Service is called {match['name']} in v2, the pod is {new}-x7k2p."
    return None


def _report(draft: Draft, topic: Topic, programs: Programs, text: str, spot: SourceRange, start: int, says: str) -> None:
    path, offset = place(programs, spot, spot.offset(start))
    draft.report(topic, path, f"{quoted(text, start, spot)}: {says}", offset=offset)

"""Programs that name the training container or its pod as v1 does, to find its log or its state: in v2 it is called `node`.

Of what the kernel tells in /proc, only mountinfo shows a name: /dev/termination-log and subPath volumes are mounted from
directories of the kubelet that are called as the container. /proc/mounts and cgroups show none.
"""

from __future__ import annotations

import re
from functools import cache

from shunter.api.late_patterns import late_pattern
from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, has_any, matches
from shunter.migrate.findings import Topic

NAMED = Topic(
    id="HOST021",
    title="a program names the training container or its log as in v1",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The path of a container's log contains the names of the pod and the container, and so do the labels of log collectors "
        "and the kubelet's directories in /proc/self/mountinfo. In v2 the training container is named `node` and its pod "
        "JOB-node-0-1-x7k2p, so a program that looks for v1 names finds nothing, often without an error."
    ),
    remedy="Look for node instead of the v1 container, and for JOB-node-0-INDEX- in names of logs.",
    explains=("none",),
    limits_proof=True,
)


_CLIENTS = r"(?<![\w.-])(?:kubectl|oc|crictl|nerdctl|docker|podman|stern)(?![\w./:-])"
"""What takes the name of a container by an option."""
_OTHER_OPTIONS = r"(?<![\w./-])(?:run|create|conda|mamba|micromamba)(?![\w./-])"
"""What gives a new container its name, or takes a channel by the same option."""
_DIRECTORIES = r"(?:containers|volume-subpaths)/"
_OF_ANY_CONTAINER = late_pattern(
    rf"mountinfo[^\n;]{{0,400}}?\b{_DIRECTORIES}(?![\w.-])|\b{_DIRECTORIES}(?![\w.-])[^\n;]{{0,400}}?mountinfo"
    rf"|(?<!\w)(?<!\w/){_DIRECTORIES}(?=[\[(\\\"'#}}])"
)
"""What a text looks for that takes the name out of a line of mountinfo: beside that word, or anywhere by a pattern, which no
directory of files is."""


def apply(draft: Draft) -> None:
    """Reports each text once for each name."""
    container = draft.job_kind.container
    of_container = _container_pattern(re.escape(container))
    of_pod = late_pattern(_log_pattern(re.escape(draft.job.name), "|".join(map(str.lower, draft.job.replicas))))
    for programs in all_programs(draft):
        for found in matches(programs, of_pod) if has_any(programs, ["/var/log/"]) else ():
            new = draft.host(programs.group, 0).partition(".")[0]
            says = f"{found.line} names the log of a pod as in v1; the first pod is {new}-x7k2p in v2."
            draft.report(NAMED, found.path, says, offset=found.offset)
        if programs.group.container_names.get(container) != NODE:
            continue
        named = [*matches(programs, of_container)]
        for found in named:
            says = f"{found.line} names {container}, which is called {NODE} in v2."
            draft.report(NAMED, found.path, says, offset=found.offset)
        for found in matches(programs, _OF_ANY_CONTAINER) if not named and has_any(programs, ["/mountinfo"]) else ():
            says = f"{found.line} reads the name of the container, {container} in v1 and {NODE} in v2."
            draft.report(NAMED, found.path, says, offset=found.offset)


@cache
def _container_pattern(name: str) -> re.Pattern[str]:
    """The container's name where it is one: in a path of the kubelet, a label, an option, a comparison."""
    in_a_path = rf"/{name}/[\w*?\[\]]+\.log\b|_{name}-[\w*?\[\]]*\.log\b|\bcontainers/{name}(?![\w.-])"
    in_a_label = rf"\bcontainer(?:[._]?[nN]ame[\\\"']*\s*==|(?:[._]?[nN]ame)?[\\\"']*\s*(?:=~?|:))\s*[\\\"']*{name}(?![\w./:-])"
    between = rf"(?:(?!{_OTHER_OPTIONS}|{_CLIENTS})[^\n;|&]){{0,400}}?"
    by_option = rf"{_CLIENTS}{between}\s(?:-c|--container|--name)(?:[ =]|[\"'],\s*[\"']){name}(?![\w./:-])"
    of_many = r"(?:(?:[.\[\"']|\bin\s)containers\b|\bcontainers\[)[^\n]{0,200}?\bname[\"']?\]?"
    compared = rf"(?:{of_many}|\bcontainer\[[\"']name[\"']\])\s*==\s*[\"']{name}[\"']"
    return late_pattern(f"{in_a_path}|{in_a_label}|{by_option}|{compared}")


def _log_pattern(name: str, roles: str) -> str:
    """The name of a log of the kubelet: NAMESPACE_POD_UID in /var/log/pods, POD_NAMESPACE_CONTAINER-ID.log beside it; of this
    job or any, not of one that is called otherwise."""
    job = rf"(?:(?<![a-z0-9.-]){name}|\*|\$\w{{1,100}}|\}})"
    return rf"/var/log/(?:pods|containers)/[\w.*?${{}}-]{{0,400}}?{job}-(?:{roles})-?[\d*?]{{0,9}}_"

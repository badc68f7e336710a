"""Programs that put host names of v1 together from the job's name and a role: `${JOB}-worker-$i`, `f"{job}-master-0"`.

Where the job's name is written out, `hosts` knows it and blocks. Here it is a variable, so that it may be another one: a warning,
unless the names are those of a launcher's hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import Option
from shunter.migrate.conversion.commands import understood
from shunter.migrate.conversion.commands.mounted_files import mounted_files
from shunter.migrate.conversion.commands.reads import HOST_LIST
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.conversion.rules.programs.texts import (
    Match,
    Programs,
    all_programs,
    has_any,
    is_in_comment,
    matches,
    place,
    quoted,
)
from shunter.migrate.excerpts import excerpt
from shunter.migrate.findings import Topic
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_HOST_FILE

BUILT = Topic(
    id="HOST013",
    title="a program builds a name that looks like a v1 pod",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The text joins a name with one of the job's roles, as in JOB-worker-0. If it is the host name of another pod, it does "
        "not resolve in v2, where a pod is reached as JOB-node-0-1.JOB: the program waits for it, or fails."
    ),
    remedy="Use MASTER_ADDR, or build v2 names; nothing if it is the name of a file or a run.",
    explains=("none",),
    limits_proof=True,
)
LAUNCHED = Topic(
    id="HOST033",
    title="a launcher gets hosts whose names are put together when it runs",
    severity="warning",
    other_impact="blocking",
    change="manual",
    grade="D",
    explanation=(
        "The hosts of mpirun, horovodrun, deepspeed or a remote shell decide which pods train. Here they come from variables or "
        "from names that look like JOB-worker-0, which does not resolve in v2, where a pod is reached as JOB-node-0-1.JOB. Which "
        "hosts take part cannot be followed."
    ),
    remedy="Use /etc/mpi/hostfile, which both generations write, or build v2 names; then suppress with --accept HOST033.",
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
_LAUNCHERS = frozenset({"mpirun", "horovodrun", "deepspeed"})
_HOSTS, _HOST_FILES = frozenset({"H", "hosts", "include"}), frozenset({"hostfile", "default-hostfile"})
"""Options that name hosts, and files that do."""
_QUOTED = r"[\"'](?:[\w./]*/)?(?:mpirun|mpiexec|orterun|horovodrun|deepspeed)[\"'\s][^;]{0,400}?"
_REMOTE = late_pattern(
    r"(?:^|[\s;&|(\"'/])(?:ssh|pdsh|pssh|parallel-ssh|clush)[\"'\s]|\bhorovod(?:\.\w+)*\.run\("
    rf"|{_QUOTED}[\"'\s](?:-H|--?hosts?|--?hostfile|--include)\b"
)
"""What runs a program on other hosts, from a shell or from Python."""
_FROM_PYTHON = late_pattern(rf"{_QUOTED}(?:[\"'](?:-H|--?hosts?)[\"']\s*,\s*(?![\"'\s])|\s(?:-H|--?hosts?)[ =][\"']?\{{)")
"""A launcher that Python gives hosts which a variable holds."""
_OWN_LIST = late_pattern(rf"{re.escape(HOST_LIST)}|\b{OPEN_MPI_HOST_FILE}\b")
_OWN_NAME = late_pattern(r"\$\(\s*hostname[^$`]*\)|`\s*hostname[^$`]*`|\$\{?HOSTNAME\b[^,]*")
"""The pod's own host name, of which `pod_reads` tells."""
_JOINED = r"""(?:\$\w+|[})"'>]|%(?:\(\w+\))?[sd])-"""
"""The end of a value that is put in, and what joins the next part to it."""
_VALUE = r"""(?:%[sd]|\{[\w.]*\}|\$\w+|\$\{\w+\})"""
"""A value that is put in."""
_OF_DATA = late_pattern(r"\b(?:s3[an]?|gs|gcs|hdfs|file|oss|abfss?|wasbs?)\Z|\bimage[\"']?:[ \t]*[\"']?[^\s\"']{0,60}\Z")
"""What stands before a path in a store, or the name of an image."""
_LATER = r"[\s\S]{0,2000}?"
_NO_NAME = "(?!)"
"""In the place of a job's name that no text has: such jobs share a pattern, which takes longer to compile than to ask."""


def apply(draft: Draft) -> None:
    """Reports each text once."""
    roles = [role.lower() for role in draft.job.replicas]
    for programs in all_programs(draft):
        if not has_any(programs, roles):
            continue
        name = re.escape(draft.job.name) if has_any(programs, [f"{draft.job.name}-"]) else _NO_NAME
        for found in matches(programs, _compiled(name, "|".join(roles))):
            _report(draft, programs, found)
    for programs in all_programs(draft):
        for found in _in_data(draft, programs, "|".join(roles)):
            _report(draft, programs, found)
        for option in _hosts(draft, programs, _HOSTS):
            if _is_unknown(option.value):
                path, offset = place(programs, (spot := option.words[-1].spot), spot.start)
                says = f"The hosts of {option.words[0].value} are {excerpt(option.value)!r}, known only when it runs."
                draft.report(LAUNCHED, path, says, offset=offset)
        for found in matches(programs, _FROM_PYTHON):
            if not any(_OWN_LIST.search(text) for text, _ in programs.texts):
                draft.report(
                    LAUNCHED, found.path, f"{found.line} gives hosts that are known only when it runs.", offset=found.offset
                )


def _hosts(draft: Draft, programs: Programs, names: frozenset[str]) -> Iterator[Option]:
    """The options by which launchers of a container are given hosts."""
    launch = understood(programs.container, programs.volumes, draft.texts_of)
    for started in launch.started:
        if started.launcher in _LAUNCHERS:
            yield from (option for name, option in started.given if name in names)


def _is_unknown(hosts: str) -> bool:
    """Whether a launcher's hosts are put together of more than this pod's name and the list that both generations write. How many
    processes each has may be unknown."""
    if _OWN_LIST.search(hosts):
        return False
    names = _OWN_NAME.sub("", hosts)
    return any("$" in name.partition(":")[0] or "`" in name.partition(":")[0] for name in re.split(r"[,@]", names))


def _is_for_launchers(draft: Draft, programs: Programs) -> bool:
    """Whether a container gives hosts to a launcher, or runs programs on other hosts."""
    files = (option.value for option in _hosts(draft, programs, _HOST_FILES))
    is_given = any(not _OWN_LIST.search(file) for file in files) or next(_hosts(draft, programs, _HOSTS), None) is not None
    return is_given or any(_REMOTE.search(text) for text, _ in programs.texts)


def _report(draft: Draft, programs: Programs, found: Match) -> None:
    topic = LAUNCHED if _is_for_launchers(draft, programs) else BUILT
    says = f"{found.line} may name a pod as v1 does; the first one is {draft.host(programs.group, 0)} in v2."
    draft.report(topic, found.path, says, offset=found.offset)


def _in_data(draft: Draft, programs: Programs, roles: str) -> Iterator[Match]:
    """Addresses in files that no reader takes for programs: settings and templates into which the job's name is put."""
    read = {(spot.file, spot.path) for _, spot in programs.texts}
    for file in mounted_files(programs.container, programs.volumes, draft.texts_of).values():
        if (file.spot.file, file.spot.path) in read:
            continue
        found = (match for match in _address(roles).finditer(file.text) if _is_of_a_pod(draft, file.text, match))
        if (match := next(found, None)) is not None:
            path, offset = place(programs, file.spot, match.start())
            yield Match(path, offset, quoted(file.text, match.start(), file.spot, with_number=True), match[0])


@lru_cache(maxsize=64)
def _address(roles: str) -> re.Pattern[str]:
    """A name that is put together, with a port or as the host of a URL."""
    name = rf"(?:\$\{{?[\w.:]+\}}?|\}}\}}|%\(\w+\)s)-(?:{roles})-(?:\d+|\$\{{?\w+\}}?)"
    domain = r"(?P<{}>(?:\.[\w${{}}-]{{1,63}}){{0,9}})"
    port = r":\d{2,5}(?![\w:-]|\.\w)"
    return re.compile(rf"://[^\s\"'/]{{0,80}}?{name}{domain.format('of_url')}|(?<![^/]/){name}{domain.format('of_port')}{port}")


def _is_of_a_pod(draft: Draft, text: str, match: re.Match[str]) -> bool:
    """Whether it may be a host of the job: no bucket, image or name in a domain of others, and in no comment."""
    domain = (match["of_url"] or match["of_port"] or "")[1:]
    before = text[max(match.start() - 80, 0) : match.start()]
    is_own = any(sign in domain for sign in "${") or is_own_domain(draft, domain)
    return is_own and not _OF_DATA.search(before) and not is_in_comment(text, match.start())


@lru_cache(maxsize=64)
def _compiled(name: str, roles: str) -> re.Pattern[str]:
    return re.compile(_pattern(name, roles))


def _pattern(name: str, roles: str) -> str:
    """What a text looks like that joins a name, one of the roles and a number."""
    in_one_text = rf"{_JOINED}(?:{roles})-?(?:\d|[$%{{\[\"'<]|$)"
    of_any_job = rf"\.[*+]-(?:{roles})-(?:\d|\\+d|\[\\*[\dd]|[$%{{][\w{{(])"
    of_files = rf"(?<!/var/log/containers/)\*[._-]?(?:{name}-)?(?:{roles})-(?:\d|[*?\[{{$%])"  # HOST021 reports those logs
    by_join = rf"""["']-["']\.join\([^)\n]{{0,400}}["'](?:{roles})["']"""
    of_three = rf"{_VALUE}-{_VALUE}-(?:\d|{_VALUE})"
    a_role = rf"""(?:=\s*["']?|["'(,\s])(?:{roles})(?=["'),;\s]|$)"""
    before_braces = rf"(?:(?<![\w./-]){name}|\}}|\$\w+)-\{{(?:[\w.-]{{0,63}},){{0,20}}(?:{roles})"
    in_braces = rf"{before_braces}(?:-[\d${{]|(?:,[\w.-]{{0,63}}){{0,20}}\}}-[\d${{])"
    base = rf"(?<![\w./-]){name}-(?:{roles})"
    added = rf"""{base}["']\s?\+\s?["']-"""
    assigned = r"(?:\s?:\s?str)?\s?=\s?[\"']?"
    held = rf"""\b(?P<base>[A-Za-z_]\w*)(?:{assigned}|\sin\s[^\n;]{{0,200}}?){base}(?=["'\s;])"""
    return (
        rf"{in_one_text}|{of_any_job}|{of_files}|{by_join}|{in_braces}|{added}"
        rf"|{held}(?={_LATER}{_numbered('(?P=base)')})"
        rf"|{of_three}(?=[^\n]{{0,400}}?{a_role})|{a_role}(?={_LATER}{of_three})"
    )


def _numbered(base: str) -> str:
    """What puts a number behind a base that a variable holds."""
    by_shell = rf"""\$\{{?{base}\b\}}?["']?-(?:[\d{{]|\$(?:[\w{{]|\(\())"""
    by_python = rf"""\{{{base}\}}-[\d{{]|\b{base}\s?\+\s?f?["']-|["']-["']\.join\([\[(]{base}\b"""
    by_format = rf"(?:%s-%\w|\{{\}}-\{{)[^\n]{{0,80}}?\b{base}\b"
    return rf"(?:{by_shell}|{by_python}|{by_format})"

"""Programs that look up in DNS a name of several pods, the job's or that of a role: they count or list their peers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.commands.python_reads import ALL_ADDRESSES
from shunter.migrate.conversion.commands.shell_programs import RESOLVES
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import Found, is_of_any_service, made_of
from shunter.migrate.conversion.rules.programs.peers.peer_services import is_unseen, of_service, own_names
from shunter.migrate.conversion.rules.programs.peers.peer_texts import VARIABLE, Text, made, read, resolved
from shunter.migrate.conversion.rules.programs.peers.results_in_calls import ASKS_DNS
from shunter.migrate.conversion.rules.programs.peers.results_in_javascript import LOOKS_UP
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted
from shunter.migrate.findings import Topic

PEERS = Topic(
    id="HOST028",
    title="a program counts or lists pods by a DNS lookup",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 each pod, but those of an MPIJob, has a Service of its name, JOB-worker-0, with one address; JOB and JOB-worker "
        "are names only where such a Service was created. In v2 the headless service JOB has the addresses of all pods of the "
        "job, whatever their role; the names of v1 have none, nor has a Service that selects pods by labels of v1. A program "
        "that takes the number of its processes or shards, or its list of peers, from such a look-up gets another one, and may "
        "train on other data."
    ),
    remedy=(
        "Take the number of processes from WORLD_SIZE, or look up the job's name where all pods are meant. Convert a Service "
        "that is not in the input together with the job."
    ),
    explains=("none",),
    limits_proof=True,
)
COUNTS = Topic(
    id="HOST029",
    title="a rank, or a number of ranks or shards, is computed from a DNS lookup",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program counts the addresses of a name in DNS, and takes the count for a number of processes or shards, or the "
        "position of an address for a rank: `WORLD_SIZE=$(getent ahosts JOB-worker | wc -l)`, `--nnodes=$N`, "
        "`world_size=len(peers)`, `rank=peers.index(address)`, `files[rank::len(peers)]`, `rank * (len(files) // n)`; or sets "
        "by it how each process trains: `batch_size=256 // n`, `lr * n`; or a comparison with an address chooses the rank: "
        "`[ $FIRST = $POD_IP ] && RANK=0`. In v1 each pod, but those of an MPIJob, has a Service of its name, and JOB-worker is "
        "a name only where such a Service was created. In v2 the headless service JOB has the addresses of all pods of the "
        "job, whatever their role; the names of v1 have none, nor has a Service that selects pods by labels of v1. With another "
        "count, ranks wait for peers that never come, "
        "shards of the data are left out or read twice, or batches and learning rates have another size."
    ),
    remedy=(
        "Take the number from a variable that v1 and v2 both set, as WORLD_SIZE, which counts the Master too; convert a Service "
        "that is not in the input together with the job; suppress with --accept HOST029 if the name has as many addresses in v2."
    ),
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
_OF_MPI = "Take the number of processes from OMPI_COMM_WORLD_SIZE, or the hosts from the hostfile."
_ACCEPT = "Suppress with --accept HOST029 if the name has as many addresses in v2."
_LONGEST_FUNCTION = 4_000
"""Characters of a function before a look-up in it."""
_IN_SHELL = late_pattern(rf"\b{RESOLVES}[ \t]+(?!=)(?P<words>[^\n|;&)`<>]{{1,400}})")
_MAY_LOOK_UP = late_pattern(rf"\b{RESOLVES}[ \t]|{'|'.join(sorted(ALL_ADDRESSES))}|\bresolver\b|{LOOKS_UP}")
_WORDS = r"(?P<words>[^\n,()]{1,400}(?:\([^\n()]{0,400}\)[^\n,()]{0,400})?)"
_ARGUMENT = late_pattern(_WORDS)
_IN_PYTHON = late_pattern(rf"\b{ASKS_DNS}{_WORDS}")
_PARAMETER = late_pattern(r"(?!\w*(?:host|addr|address|master|server)\Z)[A-Za-z_]\w*", re.IGNORECASE)


class _LookUp(NamedTuple):
    start: int
    name: str
    """As far as it is known."""
    number: str
    """The number of ranks or shards that is made of the count; empty for none."""


def apply(draft: Draft) -> None:
    """Reports one look-up of each text: one that decides a number, or else the first."""
    for programs in all_programs(draft):
        for text, spot in programs.texts:
            if not _MAY_LOOK_UP.search(text):
                continue
            look_ups = [*_look_ups(draft, read(text, programs.container), made(draft, programs, text, spot))]
            if not look_ups:
                continue
            found = next((one for one in look_ups if one.number), look_ups[0])
            path, offset = place(programs, spot, spot.offset(found.start))
            message = _message(draft, programs, quoted(text, found.start, spot, with_number=True), found)
            topic, of_mpi = (COUNTS, f"{_OF_MPI} {_ACCEPT}") if found.number else (PEERS, _OF_MPI)
            draft.report(topic, path, message, remedy=of_mpi if _is_mpi(draft) else "", offset=offset)


def _message(draft: Draft, programs: Programs, line: str, look_up: _LookUp) -> str:
    name = look_up.name
    pods, first = len(draft.hosts), draft.host(programs.group, 0)
    number = f", and {look_up.number} is made of their {made_of(look_up.number)}" if look_up.number else ""
    if service := of_service(draft, name):
        return f"{line} looks up {service}{number}."
    hosts = [host for host in draft.hosts if name and host.startswith(f"{name}-")] or [*draft.hosts]
    what = f"{name}, which" if name else "a name that"
    in_v1 = "no Service for the pods of an MPIJob" if _is_mpi(draft) else f"a Service for each ({', '.join(hosts[:3])})"
    return (
        f"{line} looks up {what} may stand for several pods{number}: v1 has {in_v1}, v2 "
        f"one of the name {draft.name} with {pods} address{'es' if pods > 1 else ''}, and {first} for the first pod."
    )


def _is_mpi(draft: Draft) -> bool:
    return draft.kind == KIND.resource.kind


def _look_ups(draft: Draft, text: Text, found: Found) -> Iterator[_LookUp]:
    """The look-ups of such names."""
    for match in _IN_SHELL.finditer(text.code):
        if match.start() not in found.places and found.commands_left >= 0:
            continue
        number, is_counted, is_listed = _use(found, match.start())
        for word in (word.strip("\"'") for word in match["words"].split()):
            name = None
            if word[:1] not in "-+@":
                name = _peers(draft, text, word, is_counted=is_counted, is_listed=is_listed)
            if name is not None:
                yield _LookUp(match.start(), name, "" if _may_be_another(draft, number, name, word) else number)
    named = {match.start("words"): match for match in _IN_PYTHON.finditer(text.code)}
    others = (_ARGUMENT.match(text.code, place) for place in sorted(found.places - named.keys()))
    for match in (*named.values(), *(one for one in others if one and not _IN_SHELL.match(text.code, one.start()))):
        number, is_counted, is_listed = _use(found, match.start("words"))
        word = match["words"].replace("\\", "")
        name = _peers(draft, text, word, is_counted=is_counted, is_listed=is_listed, is_code=True)
        if name is None and _is_parameter(text, word):
            function = _function_around(text.code, match.start())
            name = next((one for one in sorted(own_names(draft)) if (function, one) in text.calls), "" if number else None)
        if name is not None:
            yield _LookUp(match.start("words"), name, "" if _may_be_another(draft, number, name, word) else number)


def _is_parameter(text: Text, word: str) -> bool:
    """Whether it is a name of Python that the text gives no value itself, and that is not called as one host."""
    return _PARAMETER.fullmatch(word.strip()) is not None and word.strip() not in text.assigned


def _function_around(code: str, place: int) -> str:
    """The name of the last function that begins before the place."""
    begin = code.rfind("def ", max(place - _LONGEST_FUNCTION, 0), place)
    found = re.match(r"def\s+(\w+)", code[begin:place]) if begin >= 0 else None
    return found[1] if found else ""


def _may_be_another(draft: Draft, number: str, name: str, word: str) -> bool:
    """Whether a name that is not known may be that of another service: a database has replicas and a host, too."""
    is_one_host = any((match[1] or match[2] or match[3]).endswith("_HOST") for match in VARIABLE.finditer(word))
    return name not in own_names(draft) and (is_of_any_service(number) or is_one_host)


def _use(found: Found, place: int) -> tuple[str, bool, bool]:
    """The number that is made of the answers, whether they are counted, which a text that was not read to its end may do, and
    whether they are listed."""
    number = found.numbers.get(place, "")
    return number, bool(number) or place in found.counted or found.commands_left < 0, place in found.listed


def _peers(draft: Draft, text: Text, word: str, *, is_counted: bool, is_listed: bool, is_code: bool = False) -> str | None:
    """The name that is looked up if it may be one of several pods: empty if it is not known; None if it is another one. Of
    Python code a word alone is a name of the code."""
    name, is_known = resolved(text, word)
    if is_known:
        host, _, domain = name.partition(".")
        if host in own_names(draft):
            return host if is_own_domain(draft, domain) else None
        is_written = not is_code or name != word.strip()
        return host if is_written and (is_counted or is_listed) and is_unseen(draft, name) else None
    roles = "|".join(role.lower() for role in draft.job.replicas)
    if re.search(rf"-(?:{roles})(?=[.\"']|$)|(?:\bformat\(|%|\bjoin\().*[\"'](?:{roles})[\"']", name):
        return ""
    variables = {found for match in VARIABLE.finditer(f"{word} {name}") for found in match.groups() if found}
    if not variables or variables & text.of_one_pod or re.search(r"\.\w{2,}\.\w{2,}$", name):
        return None
    is_one_host = any(variable.endswith("_HOST") for variable in variables)
    return "" if is_counted or (is_listed and not is_one_host) else None

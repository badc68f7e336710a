"""Programs that look up in DNS a name of several pods, the job's or that of a role: they count or list their peers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.pod_reads import python_texts
from shunter.migrate.conversion.launch.python_code import is_python_code
from shunter.migrate.conversion.launch.python_reads import ALL_ADDRESSES
from shunter.migrate.conversion.launch.reads import is_rank
from shunter.migrate.conversion.launch.shell_programs import RESOLVES
from shunter.migrate.conversion.rules.programs.answers_in_calls import ASKS_DNS
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.conversion.rules.programs.peer_numbers import Found, is_of_any_service
from shunter.migrate.conversion.rules.programs.peers_in_python import found_in_python
from shunter.migrate.conversion.rules.programs.peers_in_shell import found_in_shell
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted, without_comments
from shunter.migrate.findings import Topic
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME, REPLICA_TYPE

PEERS = Topic(
    id="HOST028",
    title="a program counts or lists pods by a name in DNS",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 each pod, but those of an MPIJob, has a Service of its name, JOB-worker-0, with one address; JOB and JOB-worker "
        "are names only where somebody made such a Service. In v2 the headless service JOB has the addresses of all pods of the "
        "job, whatever their role, and the names of v1 have none. A program that takes the number of its processes or shards, "
        "or its list of peers, from such a look-up gets another one, and may train on other data."
    ),
    remedy="Take the number of processes from WORLD_SIZE, or look up the job's name where all pods are meant.",
    explains=("none",),
    limits_proof=True,
)
COUNTS = Topic(
    id="HOST029",
    title="a rank, or a number of ranks or shards, is taken from a name in DNS",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program counts the addresses of a name in DNS, and takes the count for a number of processes or shards, or the "
        "position of an address for a rank: `WORLD_SIZE=$(getent ahosts JOB-worker | wc -l)`, `--nnodes=$N`, "
        "`world_size=len(peers)`, `rank=peers.index(address)`, `files[rank::len(peers)]`, `rank * (len(files) // n)`; or sets "
        "by it how each process trains: `batch_size=256 // n`, `lr * n`; or a comparison with an address chooses the rank: "
        "`[ $FIRST = $POD_IP ] && RANK=0`. In v1 each pod, but those of an MPIJob, has a Service of its name, and JOB-worker is "
        "a name only where somebody made such a Service. In v2 the headless service JOB has the addresses of all pods of the "
        "job, whatever their role, and the names of v1 have none. With another count, ranks wait for peers that never come, "
        "shards of the data are left out or read twice, or batches and learning rates have another size."
    ),
    remedy=(
        "Take the number from a variable that v1 and v2 both set, as WORLD_SIZE, which counts the Master too; suppress with "
        "--accept HOST029 if the name has as many addresses in v2."
    ),
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
_OF_MPI = "Take the number of processes from OMPI_COMM_WORLD_SIZE, or the hosts from the hostfile."
_ACCEPT = "Suppress with --accept HOST029 if the name has as many addresses in v2."
_LONGEST = 400
"""How many characters of a line are read about a look-up, on each side."""
_LONGEST_FUNCTION = 4_000
"""Characters of a function before a look-up in it."""
_IN_SHELL = late_pattern(rf"\b{RESOLVES}[ \t]+(?!=)(?P<words>[^\n|;&)`<>]{{1,400}})")
_MAY_LOOK_UP = late_pattern(rf"\b{RESOLVES}[ \t]|{'|'.join(sorted(ALL_ADDRESSES))}|\bresolver\b")
_WORDS = r"(?P<words>[^\n,()]{1,400}(?:\([^\n()]{0,400}\)[^\n,()]{0,400})?)"
_ARGUMENT = late_pattern(_WORDS)
_IN_PYTHON = late_pattern(rf"\b{ASKS_DNS}\([\s\\]{{0,200}}{_WORDS}")
_CALL = late_pattern(r"\b(\w{1,80})\(\s{0,20}[\"']([\w-]{1,63})[\"'.]")
_PARAMETER = late_pattern(r"(?!\w*(?:host|addr|address|master|server)\Z)[A-Za-z_]\w*", re.IGNORECASE)
_ASSIGNMENT = late_pattern(r"(?<![\w$.])([A-Za-z_]\w*)[ \t]?=(?!=)(?=[ \t]?[^\n;])")
_VARIABLE = late_pattern(r"\$\{?(\w+)\}?|os\.environ\[[\"'](\w+)[\"']\]|os\.(?:environ\.get|getenv)\([\"'](\w+)[\"'][^)]*\)")
_JOINS = late_pattern(r"^[rbuf]{0,2}[\"']|[\"']$|[\"']\s*\+\s*|\s*\+\s*[rbuf]{0,2}[\"']|[{}]|(?<=[^\s])[\"']$")
"""What stands between the parts of a text that Python puts together."""
_CONTINUATION = late_pattern(r"\\\n|(?<=[(\[,])[ \t]*\n\s*|\n\s*(?=[)\]])")
"""Where a line goes on in the next."""
_ONE_POD = frozenset({"MASTER_ADDR", "PET_MASTER_ADDR", "COORDINATOR_ADDRESS", "CHIEF_ADDR", "HOSTNAME", "POD_NAME", "POD_IP"})
"""One pod in both generations: the first one, or the pod itself."""
_OF_THE_POD = frozenset({"metadata.name", "status.podIP", "status.hostIP", "spec.nodeName"})
"""Fields of a pod that name it, or its node."""


class _Text(NamedTuple):
    """A program, and what is asked of it at each look-up: found once."""

    code: str
    """Without comments."""
    assigned: Mapping[str, int]
    """Where the value of each variable begins; -1 where it has several."""
    calls: Set[tuple[str, str]]
    """Functions, and the texts that they are given first, up to the first dot."""
    values: Mapping[str, str]
    """Of the container's environment."""
    of_one_pod: Set[str]
    """Variables that hold the name or address of one pod."""


class _LookUp(NamedTuple):
    start: int
    name: str
    """As far as it is known."""
    number: str
    """The number of ranks or shards that is made of the count; empty for none."""


def apply(draft: Draft) -> None:
    """Tells of each text once: of a look-up that decides a number, or else of the first."""
    for programs in all_programs(draft):
        for text, spot in programs.texts:
            if not _MAY_LOOK_UP.search(text):
                continue
            codes = python_texts(programs.container, programs.volumes, draft.texts_of)
            within = [
                (0 if spot.is_decoded else code.spot.start - spot.start, code.text)
                for code in codes
                if (code.spot.file, code.spot.path) == (spot.file, spot.path)
            ]
            look_ups = [*_look_ups(draft, _read(text, programs.container), _made(text, within))]
            if not look_ups:
                continue
            found = next((one for one in look_ups if one.number), look_ups[0])
            path, offset = place(programs, spot, spot.offset(found.start))
            says = _message(draft, programs, quoted(text, found.start, spot, with_number=True), found)
            topic, of_mpi = (COUNTS, f"{_OF_MPI} {_ACCEPT}") if found.number else (PEERS, _OF_MPI)
            draft.report(topic, path, says, remedy=of_mpi if _is_mpi(draft) else "", offset=offset)


def _made(text: str, codes: Sequence[tuple[int, str]]) -> Found:
    """What the text makes of its look-ups; `codes` are the parts of it that are Python code, and where they begin."""
    if (0, text) in codes or (not codes and is_python_code(text)):
        return found_in_python(text)[0]
    in_shell, _ = found_in_shell(text, found_in_python)
    made = Found(left=in_shell.left)
    made.take(in_shell, 0)
    for begin, code in codes:
        made.take(found_in_python(code)[0], begin)
    return made


def _message(draft: Draft, programs: Programs, line: str, look_up: _LookUp) -> str:
    name = look_up.name
    pods, first = len(draft.hosts), draft.host(programs.group, 0)
    if name in _services(draft):
        number = f", and {look_up.number} is made of their {_made_of(look_up)}" if look_up.number else ""
        return f"{line} looks up {name}, a Service that selects pods by labels of v1, which no pod of v2 has{number}."
    hosts = [host for host in draft.hosts if name and host.startswith(f"{name}-")] or [*draft.hosts]
    what = f"{name}, which" if name else "a name that"
    in_v1 = "no Service for the pods of an MPIJob" if _is_mpi(draft) else f"a Service for each ({', '.join(hosts[:3])})"
    number = f", and {look_up.number} is made of their {_made_of(look_up)}" if look_up.number else ""
    return (
        f"{line} looks up {what} may stand for several pods{number}: v1 has {in_v1}, v2 "
        f"one of the name {draft.name} with {pods} address{'es' if pods > 1 else ''}, and {first} for the first pod."
    )


def _made_of(look_up: _LookUp) -> str:
    return "order" if is_rank(look_up.number) else "count"


def _is_mpi(draft: Draft) -> bool:
    return draft.kind == KIND.resource.kind


def _read(text: str, container: Json) -> _Text:
    code = _CONTINUATION.sub(lambda match: " " * len(match[0]), without_comments(text))
    assigned: dict[str, int] = {}
    for match in _ASSIGNMENT.finditer(code):
        assigned[match[1]] = -1 if match[1] in assigned else match.end()
    environment = container.get("env") or ()
    values = {str(one.get("name")): one["value"][:_LONGEST] for one in environment if isinstance(one.get("value"), str)}
    own = {str(one.get("name")) for one in environment if _field(one) in _OF_THE_POD}
    calls = {(match[1], match[2]) for match in _CALL.finditer(code)}
    return _Text(code, assigned, calls, values, _ONE_POD | own)


def _field(variable: Json) -> str:
    return str(((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath"))


def _look_ups(draft: Draft, text: _Text, made: Found) -> Iterator[_LookUp]:
    """The look-ups of such names."""
    for match in _IN_SHELL.finditer(text.code):
        if match.start() not in made.places and made.left >= 0:
            continue
        number, is_counted, is_listed = _use(made, match.start())
        for word in (word.strip("\"'") for word in match["words"].split()):
            name = None
            if word[:1] not in "-+@":
                name = _peers(draft, text, word, is_counted=is_counted, is_listed=is_listed)
            if name is not None:
                yield _LookUp(match.start(), name, "" if _may_be_another(number, name, word) else number)
    named = {match.start("words"): match for match in _IN_PYTHON.finditer(text.code)}
    others = (_ARGUMENT.match(text.code, place) for place in sorted(made.places - named.keys()))
    for match in (*named.values(), *(one for one in others if one and not _IN_SHELL.match(text.code, one.start()))):
        number, is_counted, is_listed = _use(made, match.start("words"))
        word = match["words"].replace("\\", "")
        name = _peers(draft, text, word, is_counted=is_counted, is_listed=is_listed)
        if name is None and _is_parameter(text, word):
            function = _function_around(text.code, match.start())
            name = next((one for one in sorted(_names(draft)) if (function, one) in text.calls), "" if number else None)
        if name is not None:
            yield _LookUp(match.start("words"), name, "" if _may_be_another(number, name, word) else number)


def _is_parameter(text: _Text, word: str) -> bool:
    """Whether it is a name of Python that the text gives no value itself, and that is not called as one host."""
    return _PARAMETER.fullmatch(word.strip()) is not None and word.strip() not in text.assigned


def _function_around(code: str, place: int) -> str:
    """The name of the function that was begun last before the place."""
    begin = code.rfind("def ", max(place - _LONGEST_FUNCTION, 0), place)
    found = re.match(r"def\s+(\w+)", code[begin:place]) if begin >= 0 else None
    return found[1] if found else ""


def _may_be_another(number: str, name: str, word: str) -> bool:
    """Whether a name that is not known may be that of another service: a database has replicas and a host, too."""
    is_one_host = any((match[1] or match[2] or match[3]).endswith("_HOST") for match in _VARIABLE.finditer(word))
    return not name and (is_of_any_service(number) or is_one_host)


def _use(made: Found, place: int) -> tuple[str, bool, bool]:
    """The number that is made of the answers, whether they are counted, which a text that was not read to its end may do, and
    whether they are listed."""
    number = made.numbers.get(place, "")
    return number, bool(number) or place in made.counted or made.left < 0, place in made.listed


def _peers(draft: Draft, text: _Text, word: str, *, is_counted: bool, is_listed: bool) -> str | None:
    """The name that is looked up if it may be one of several pods: empty if it is not known; None if it is another one."""
    name, is_known = _resolved(text, word)
    if is_known:
        host, _, domain = name.partition(".")
        return host if host in _names(draft) and is_own_domain(draft, domain) else None
    roles = "|".join(role.lower() for role in draft.job.replicas)
    if re.search(rf"-(?:{roles})(?=[.\"']|$)|(?:\bformat\(|%|\bjoin\().*[\"'](?:{roles})[\"']", name):
        return ""
    variables = {found for match in _VARIABLE.finditer(f"{word} {name}") for found in match.groups() if found}
    if not variables or variables & text.of_one_pod or re.search(r"\.\w{2,}\.\w{2,}$", name):
        return None
    is_one_host = any(variable.endswith("_HOST") for variable in variables)
    return "" if is_counted or (is_listed and not is_one_host) else None


def _names(draft: Draft) -> set[str]:
    return {draft.job.name, *(f"{draft.job.name}-{role.lower()}" for role in draft.job.replicas), *_services(draft)}


def _services(draft: Draft) -> set[str]:
    """Services of the input that select pods of the job by labels of v1."""
    if draft.options.v1_labels:
        return set()
    return {
        name
        for name, selector in draft.surroundings.selectors(draft.source.namespace)
        if selector.keys() & {JOB_NAME, REPLICA_TYPE, OPERATOR_NAME} and selector.get(JOB_NAME, draft.job.name) == draft.job.name
    }


def _resolved(text: _Text, word: str) -> tuple[str, bool]:
    """The word with what its variables hold, and whether that is all of it."""
    is_known = True

    def held(match: re.Match[str]) -> str:
        nonlocal is_known
        name = match[1] or match[2] or match[3]
        found = _assigned(text, name) or text.values.get(name)
        is_known = is_known and found is not None
        return found if found is not None else match[0]

    alone = _assigned(text, word)
    if alone is not None:
        word = alone
    elif word in text.assigned:
        is_known = False
    replaced = _VARIABLE.sub(held, word)
    for _ in range(3):
        replaced = _JOINS.sub("", replaced.strip())
    first = re.match(r"[A-Za-z_]\w*(?=-)", replaced)
    if first and (known := _assigned(text, first[0]) or None):
        replaced = _VARIABLE.sub(held, known).strip("\"'") + replaced[first.end() :]
    return replaced, is_known and not re.search(r"[$`(\[]", replaced)


def _assigned(text: _Text, name: str) -> str | None:
    """What the text gives a variable, if it does so once."""
    start = text.assigned.get(name, -1)
    if start < 0:
        return None
    value = re.split(r"[\n;]", text.code[start : start + _LONGEST], maxsplit=1)[0]
    return value.split(" if ")[0].strip().strip("\"'")

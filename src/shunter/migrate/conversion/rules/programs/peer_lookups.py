"""Programs that look up in DNS a name of several pods, the job's or that of a role: they count or list their peers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.training.mpi import KIND
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.shell_programs import RESOLVES
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted, without_comments
from shunter.migrate.findings import Topic

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
    title="a number of ranks or shards is counted by a name in DNS",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program counts the addresses of a name in DNS, and takes the count for a number of processes or shards: "
        "`WORLD_SIZE=$(getent ahosts JOB-worker | wc -l)`, `--nnodes=$N`, `world_size=len(peers)`. In v1 each pod, but those of "
        "an MPIJob, has a Service of its name, and JOB-worker is a name only where somebody made such a Service. In v2 the "
        "headless service JOB has the addresses of all pods of the job, whatever their role, and the names of v1 have none. With "
        "another count, ranks wait for peers that never come, or shards of the data are left out or read twice."
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
_IN_SHELL = late_pattern(rf"\b{RESOLVES}[ \t]+(?!=)(?P<words>[^\n|;&)`<>]{{1,400}})")
_COMMAND = late_pattern(
    r"(?:^|[\n;&|(`!{)]|(?:[=,]|\b(?:system|popen|Popen|run|call|check_\w+|getoutput|\w*shell)\()[ \t]*[rbf]{0,2}[\"']"
    r"|\s--[ \t]|-c[\"']?,?[ \t]+[rbf]{0,2}[\"']"
    r"|\b(?:do|then|else|elif|if|while|until|time|exec|sudo|env|command|xargs|timeout[ \t]+[\w.]{1,9}))"
    r"[ \t]{0,80}(?:[\w.-]{0,20}/){0,5}\Z"
)
"""What stands before the name of a program that is started."""
_CONDITION = late_pattern(r"\b(?:if|elif|while|until)[ \t]+(?:![ \t]*)?\Z")
"""What stands before a program that is asked only whether it fails."""
_PIPE = late_pattern(r"[^\n|;&]*\|")
_COUNTER = late_pattern(r"\b(?:wc|uniq|NR(?![ \t]*==[ \t]*1\b)|(?P<grep>grep[ \t]+-\w{0,9}c))\b")
_LOOP = late_pattern(r"\bfor[ \t]+\w+[ \t]+in[ \t]+(?:\$\(|`)[ \t]*\Z")
"""What stands before a program over whose answers a loop goes."""
_DISTINCT = late_pattern(r"\bsort[ \t]+-\w{0,9}u")
_FIRST_LINE = late_pattern(r"\bhead[ \t]+-(?:n[ \t]*)?1\b")
_IN_PYTHON = late_pattern(
    r"\b(?:getaddrinfo|gethostbyname_ex|resolver\.(?:resolve|query))\("
    r"\s{0,200}(?P<words>[^\n,()]{1,400}(?:\([^\n()]{0,400}\)[^\n,()]{0,400})?)"
)
_SUBSTITUTED = late_pattern(
    r"(?:\b(\w{1,80})=|(?<!\S)--?([A-Za-z][\w-]{0,60})(?:=|[ \t]+))[\"']?(?:\d{1,4}:)?(?:\$\(\([ \t]*)?(?:\$\(|`)[ \t]*"
    r"(?:(?:sudo|command|timeout[ \t]+[\w.]{1,9})[ \t]+)?(?:/[\w/]{1,40}/)?\Z"
)
"""The variable or the option that is given what a shell looks up."""
_HOLDER = late_pattern(r"(\w{1,80})(?:[\"']\]|:[ \t]{0,8}\w{1,20})?[ \t]{0,80}=[^\n=]{0,80}\Z")
"""The name that is given what is looked up."""
_COUNTS = late_pattern(r"\b(?:len|sum)\(")
_LISTS = late_pattern(r"\b(?:set|sorted)\(")
_OF_ANSWERS = late_pattern(r"\b(?:len|sum|set|sorted)\((?=([^\n]{0,80}))")
_ASSIGNMENT = late_pattern(r"(?<![\w$.])([A-Za-z_]\w*)[ \t]?=(?!=)(?=[ \t]?[^\n;])")
_VARIABLE = late_pattern(r"\$\{?(\w+)\}?|os\.environ\[[\"'](\w+)[\"']\]|os\.(?:environ\.get|getenv)\([\"'](\w+)[\"'][^)]*\)")
_JOINS = late_pattern(r"^[rbuf]{0,2}[\"']|[\"']$|[\"']\s*\+\s*|\s*\+\s*[rbuf]{0,2}[\"']|[{}]|(?<=[^\s])[\"']$")
"""What stands between the parts of a text that Python puts together."""
_IN_OUTPUT = late_pattern(r"\b(?:echo|printf)[ \t][^;|&\n]{0,100}\Z")
"""What stands before a look-up of which the answer is only shown."""
_RETURNS = late_pattern(r"^[ \t]*return\b")
_FUNCTION = late_pattern(r"\bdef[ \t]+(\w{1,80})\(")
_ASSIGNED = late_pattern(
    r"(?:\b([A-Za-z_]\w{0,60})(?:[\"']\]|:[ \t]{0,8}\w{1,20})?[ \t]?=(?!=)"
    r"(?=[ \t]?(\$\(\([^\n;]{1,80}|[\"']?\$[^\s;,]{1,80}|[^\n;,]{1,80}))"
    r"|(?<![\w-])--?([A-Za-z][\w-]{0,60})(?:=|[ \t]+(?=[\"']?(?:\d+:)?[\${]))(?=([^\s;]{1,80})))"
)
"""A variable, an argument or an option, and what it is given."""
_WORDS = late_pattern(r"(?<![\w.])\w+(?!\.\w)")
"""Names in a value, but for those of a module and of its attributes."""
_OUTPUT = late_pattern(r"\b(?:echo|printf|print|log\w*\.\w+|log|wandb\.\w+)\b[ \t(][^\n;|&]*")
"""What is only shown."""
_RANK_COUNT = late_pattern(
    r"(?:^|[_-])(?:world[_-]?size|nnodes|nprocs?|nproc[_-]per[_-]node|np"
    r"|(?:num|n|number[_-]of|total|nr)[_-]?(?:nodes|processes|procs|machines|shards|ranks|(?P<of_any>workers|replicas)))$",
    re.IGNORECASE,
)
"""A number of ranks or shards; `of_any`, one that services of other kinds have too."""
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
    counted: Set[str]
    """Names of which Python counts or lists what they hold."""
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
            is_read = _IN_SHELL.search(text) or _IN_PYTHON.search(text)
            look_ups = [*_look_ups(draft, _read(text, programs.container))] if is_read else []
            if not look_ups:
                continue
            found = next((one for one in look_ups if one.number), look_ups[0])
            path, offset = place(programs, spot, spot.offset(found.start))
            says = _message(draft, programs, quoted(text, found.start, spot, with_number=True), found)
            topic, of_mpi = (COUNTS, f"{_OF_MPI} {_ACCEPT}") if found.number else (PEERS, _OF_MPI)
            draft.report(topic, path, says, remedy=of_mpi if _is_mpi(draft) else "", offset=offset)


def _message(draft: Draft, programs: Programs, line: str, look_up: _LookUp) -> str:
    name = look_up.name
    pods, first = len(draft.hosts), draft.host(programs.group, 0)
    hosts = [host for host in draft.hosts if name and host.startswith(f"{name}-")] or [*draft.hosts]
    what = f"{name}, which" if name else "a name that"
    in_v1 = "no Service for the pods of an MPIJob" if _is_mpi(draft) else f"a Service for each ({', '.join(hosts[:3])})"
    number = f", and {look_up.number} is made of their count" if look_up.number else ""
    return (
        f"{line} looks up {what} may stand for several pods{number}: v1 has {in_v1}, v2 "
        f"one of the name {draft.name} with {pods} address{'es' if pods > 1 else ''}, and {first} for the first pod."
    )


def _is_mpi(draft: Draft) -> bool:
    return draft.kind == KIND.resource.kind


def _read(text: str, container: Json) -> _Text:
    code = _CONTINUATION.sub(lambda match: " " * len(match[0]), without_comments(text))
    assigned: dict[str, int] = {}
    for match in _ASSIGNMENT.finditer(code):
        assigned[match[1]] = -1 if match[1] in assigned else match.end()
    counted = {word for match in _OF_ANSWERS.finditer(code) for word in re.findall(r"\w+", match[1])}
    environment = container.get("env") or ()
    values = {str(one.get("name")): one["value"][:_LONGEST] for one in environment if isinstance(one.get("value"), str)}
    own = {str(one.get("name")) for one in environment if _field(one) in _OF_THE_POD}
    return _Text(code, assigned, counted, values, _ONE_POD | own)


def _field(variable: Json) -> str:
    return str(((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath"))


def _look_ups(draft: Draft, text: _Text) -> Iterator[_LookUp]:
    """The look-ups of such names."""
    for match in _IN_SHELL.finditer(text.code):
        before = text.code[max(match.start() - 120, 0) : match.start()]
        if not _COMMAND.search(before):
            continue
        is_counted, is_listed = _use_in_shell(text.code, match)
        for word in (word.strip("\"'") for word in match["words"].split()):
            if (
                word[:1] not in "-+@"
                and (name := _peers(draft, text, word, is_counted=is_counted, is_listed=is_listed)) is not None
            ):
                number = _count_made_of(text, _substituted_for(before), word, name) if is_counted else ""
                yield _LookUp(match.start(), name, number)
    for match in _IN_PYTHON.finditer(text.code):
        is_counted, is_listed = _use_in_python(text, match)
        name = _peers(draft, text, match["words"], is_counted=is_counted, is_listed=is_listed)
        if name is not None:
            number = _count_made_of(text, _held_by(text, match), match["words"], name) if is_counted else ""
            yield _LookUp(match.start("words"), name, number)


def _substituted_for(before: str) -> str:
    """The variable or the option that gets what a shell looks up, from the text before the look-up; empty where none does. In
    Python the shell's program is a text: `size = int(os.popen("getent`."""
    if _IN_OUTPUT.search(before):
        return ""
    if found := _SUBSTITUTED.search(before):
        return found[1] or found[2]
    found = _HOLDER.search(before.rpartition("\n")[2]) if before.endswith(("'", '"')) else None
    return found[1] if found else ""


def _held_by(text: _Text, look_up: re.Match[str]) -> str:
    """The name that gets what Python looks up, of a variable, an argument or the function that returns it; empty for none."""
    line = _line_before(text, look_up)
    if _RETURNS.search(line):
        functions = _FUNCTION.findall(text.code, max(look_up.start() - _LONGEST, 0), look_up.start())
        return functions[-1] if functions else ""
    holder = None if _OUTPUT.search(line) else _HOLDER.search(line[-240:])
    return holder[1] if holder else ""


def _count_made_of(text: _Text, holder: str, word: str, name: str) -> str:
    """The number of ranks or shards that is the holder, or is made of it; empty where there is none. A name that is not known may
    be that of another service: a database has replicas and a host, too."""
    if not holder:
        return ""
    if (found := _RANK_COUNT.search(holder)) is None:
        # A name that is used for several things may hold something else by then.
        number = "" if text.assigned.get(holder) == -1 else _counts_by_source(text.code).get(holder, "")
        found = _RANK_COUNT.search(number)
    else:
        number = holder
    if found is None:
        return ""
    is_one_host = any((match[1] or match[2] or match[3]).endswith("_HOST") for match in _VARIABLE.finditer(word))
    return "" if not name and (found["of_any"] or is_one_host) else number


@lru_cache(maxsize=16)
def _counts_by_source(code: str) -> Mapping[str, str]:
    """Of each name in what a number of ranks or shards is given, or in what such a name is given: that number."""
    given: dict[str, set[str]] = {}
    for match in _ASSIGNED.finditer(_OUTPUT.sub("", code)):
        name, value = (match[1], match[2]) if match[1] else (match[3], match[4])
        given.setdefault(name, set()).update(_WORDS.findall(value))
    made = {word: name for name, words in given.items() if _RANK_COUNT.search(name) for word in words}
    left = [*made]
    while left:
        name = left.pop()
        new = given.get(name, set()) - made.keys()
        made |= dict.fromkeys(new, made[name])
        left += new
    return made


def _line_before(text: _Text, look_up: re.Match[str]) -> str:
    return text.code[max(look_up.start() - _LONGEST, 0) : look_up.start()].rpartition("\n")[2]


def _use_in_shell(code: str, look_up: re.Match[str]) -> tuple[bool, bool]:
    """Whether a pipe counts the answers, and not only as what a loop waits for; and whether a loop goes over the distinct
    ones."""
    behind = code[look_up.end() : look_up.end() + _LONGEST].partition("\n")[0]
    if not (pipe := _PIPE.match(behind)):
        return False, False
    before = code[max(look_up.start() - 80, 0) : look_up.start()]
    if _LOOP.search(before):
        inside = re.split(r"[)`]", behind, maxsplit=1)[0]
        if _DISTINCT.search(inside, pipe.end()) and not _FIRST_LINE.search(inside, pipe.end()):
            return False, True
    if not (counter := _COUNTER.search(behind, pipe.end())) or _FIRST_LINE.search(behind, pipe.end(), counter.start()):
        return False, False
    return not (counter["grep"] and _CONDITION.search(before)), False


def _use_in_python(text: _Text, look_up: re.Match[str]) -> tuple[bool, bool]:
    """Whether Python counts the answers, and whether it lists them, or does so with the name that holds them. A loop over them
    tries one address after the other."""
    before = _line_before(text, look_up)
    loop = before.rfind("for ", 0, max(before.rfind(" in "), 0))
    is_within = loop > 0 and any(bracket in before[:loop] for bracket in "[({")
    holder = _HOLDER.search(before[-240:])
    is_counted = bool(_COUNTS.search(before)) or (holder is not None and holder[1] in text.counted)
    return is_counted, is_within or bool(_LISTS.search(before))


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
    return {draft.job.name, *(f"{draft.job.name}-{role.lower()}" for role in draft.job.replicas)}


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

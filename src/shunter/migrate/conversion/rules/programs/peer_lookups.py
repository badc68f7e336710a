"""Programs that look up in DNS a name of several pods, the job's or that of a role: they count or list their peers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.reads import line_of
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted
from shunter.migrate.findings import Topic

PEERS = Topic(
    id="HOST028",
    title="a program counts or lists pods by a name in DNS",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 each pod has a Service of its name, JOB-worker-0, with one address; JOB and JOB-worker are names only where "
        "somebody made such a Service. In v2 the headless service JOB has the addresses of all pods of the job, whatever their "
        "role, and the names of v1 have none. A program that takes the number of its processes or shards, or its list of "
        "peers, from such a look-up gets another one, and may train on other data."
    ),
    remedy="Take the number of processes from WORLD_SIZE, or look up the job's name where all pods are meant.",
    explains=("none",),
    limits_proof=True,
)
_IN_SHELL = late_pattern(
    r"\b(?:getent\s+a?hosts(?:v[46])?|nslookup|dig|drill|(?:(?<=[;&|(`!\n])|^)\s*host(?=\s))[ \t]+(?P<words>[^\n|;&)`<>]+)"
    r"(?P<counted>[^\n|;&]*\|[^\n]*?\b(?:wc|sort|uniq|grep\s+-c|NR)\b)?"
)
_IN_PYTHON = late_pattern(
    r"(?:(?P<held>\b\w+)[ \t]*=[^\n=]{0,80}?)?"
    r"\b(?:getaddrinfo|gethostbyname_ex|resolver\.(?:resolve|query))\(\s*(?P<words>[^\n,()]+(?:\([^\n()]*\)[^\n,()]*)?)"
)
_COUNTS = late_pattern(r"\b(?:len|sum|set|sorted)\(|[\[{(][^\n]*\bfor\b[^\n]*\bin\b")
"""What stands before a look-up whose answers are counted or listed. A loop over them tries one address after the other."""
_VARIABLE = late_pattern(r"\$\{?(\w+)\}?|os\.environ\[[\"'](\w+)[\"']\]|os\.(?:environ\.get|getenv)\([\"'](\w+)[\"'][^)]*\)")
_JOINS = late_pattern(r"^[rbuf]{0,2}[\"']|[\"']$|[\"']\s*\+\s*|\s*\+\s*[rbuf]{0,2}[\"']|[{}]|(?<=[^\s])[\"']$")
"""What stands between the parts of a text that Python puts together."""
_MASTER = frozenset({"MASTER_ADDR", "PET_MASTER_ADDR", "COORDINATOR_ADDRESS"})
"""One pod in both generations."""


def apply(draft: Draft) -> None:
    """Tells of each text once."""
    for programs in all_programs(draft):
        values = {
            str(one.get("name")): one["value"] for one in programs.container.get("env") or () if isinstance(one.get("value"), str)
        }
        for text, spot in programs.texts:
            for start, name in _look_ups(draft, text, values):
                path, offset = place(programs, spot, spot.offset(start))
                draft.report(
                    PEERS, path, _message(draft, programs, quoted(text, start, spot, with_number=True), name), offset=offset
                )
                break


def _message(draft: Draft, programs: Programs, line: str, name: str) -> str:
    pods, first = len(draft.hosts), draft.host(programs.group, 0)
    hosts = [host for host in draft.hosts if name and host.startswith(f"{name}-")] or [*draft.hosts]
    what = f"{name}, which" if name else "a name that"
    return (
        f"{line} looks up {what} may stand for several pods: v1 has a Service for each ({', '.join(hosts[:3])}), v2 "
        f"one of the name {draft.name} with {pods} address{'es' if pods > 1 else ''}, and {first} for the first pod."
    )


def _look_ups(draft: Draft, text: str, values: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Where the text looks up such a name, and the name as far as it is known."""
    for match in _IN_SHELL.finditer(text):
        if not _is_comment(text, match.start()):
            words = [word.strip("\"'") for word in match["words"].split()]
            for word in words:
                if (
                    word[:1] not in "-+@"
                    and (name := _peers(draft, text, word, values, is_counted=bool(match["counted"]))) is not None
                ):
                    yield match.start(), name
    for match in _IN_PYTHON.finditer(text):
        if _is_comment(text, match.start("words")):
            continue
        name = _peers(draft, text, match["words"], values, is_counted=_is_counted(text, match))
        if name is not None:
            yield match.start("words"), name


def _is_counted(text: str, look_up: re.Match[str]) -> bool:
    """Whether Python counts or lists the answers, or the name that holds them."""
    start = look_up.start("words")
    if _COUNTS.search(text, text.rfind("\n", 0, start) + 1, start):
        return True
    held = look_up["held"]
    return held is not None and re.search(rf"\b(?:len|sum|set|sorted)\([^\n]{{0,80}}?\b{held}\b", text) is not None


def _peers(draft: Draft, text: str, word: str, values: Mapping[str, str], *, is_counted: bool) -> str | None:
    """The name that is looked up if it may be one of several pods: empty if it is not known; None if it is another one."""
    name, is_known = _resolved(text, word, values)
    if is_known:
        host, _, domain = name.partition(".")
        return host if host in _names(draft) and is_own_domain(draft, domain) else None
    roles = "|".join(role.lower() for role in draft.job.replicas)
    if re.search(rf"-(?:{roles})(?=[.\"']|$)|(?:\bformat\(|%|\bjoin\().*[\"'](?:{roles})[\"']", name):
        return ""
    variables = {found for match in _VARIABLE.finditer(f"{word} {name}") for found in match.groups() if found}
    return "" if is_counted and variables and not variables & _MASTER and not re.search(r"\.\w{2,}\.\w{2,}$", name) else None


def _names(draft: Draft) -> set[str]:
    return {draft.job.name, *(f"{draft.job.name}-{role.lower()}" for role in draft.job.replicas)}


def _resolved(text: str, word: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """The word with what its variables hold, and whether that is all of it."""
    is_known = True

    def held(match: re.Match[str]) -> str:
        nonlocal is_known
        name = match[1] or match[2] or match[3]
        found = _assigned(text, name) or values.get(name)
        is_known = is_known and found is not None
        return found if found is not None else match[0]

    alone = _assigned(text, word) if re.fullmatch(r"[A-Za-z_]\w*", word) else None
    if alone is not None:
        word = alone
    elif re.fullmatch(r"[A-Za-z_]\w*", word) and f"{word} =" in text:
        is_known = False
    replaced = _VARIABLE.sub(held, word)
    for _ in range(3):
        replaced = _JOINS.sub("", replaced.strip())
    first = re.match(r"[A-Za-z_]\w*(?=-)", replaced)
    if first and (known := _assigned(text, first[0]) or None):
        replaced = _VARIABLE.sub(held, known).strip("\"'") + replaced[first.end() :]
    return replaced, is_known and not re.search(r"[$`(\[]", replaced)


def _assigned(text: str, name: str) -> str | None:
    """What the text gives a variable, if it does so once."""
    found = re.findall(rf"(?<![\w$.]){re.escape(name)}[ \t]?=[ \t]?([^\n;]+)", text)
    return found[0].split(" if ")[0].strip().strip("\"'") if len(found) == 1 else None


def _is_comment(text: str, start: int) -> bool:
    return line_of(text, start).startswith("#")

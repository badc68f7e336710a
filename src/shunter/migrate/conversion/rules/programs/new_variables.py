"""Variables that only v2 sets: programs that ask for one took another way in v1, and one of envFrom is overridden."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.controllers.job.pods import COMPLETION_INDEX_ENV
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.mounted_files import env_sources
from shunter.migrate.conversion.commands.pod_reads import PodRead, pod_reads, python_texts
from shunter.migrate.conversion.commands.python_sources import PREFIXES
from shunter.migrate.conversion.commands.reads import Read
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, has_any, place, quoted
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.operator.trainer.plugins.jax import PROCESS_ENVIRONMENT
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_ENVIRONMENT
from shunter.operator.trainer.plugins.trainjobstatus import REPORT_ENVIRONMENT
from shunter.operator.trainer.plugins.xgboost import TRACKER_ENVIRONMENT

ONLY_IN_V2 = Topic(
    id="HOST014",
    title="a program reads a variable that only v2 sets",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 does not set the variable, so the program takes the branch without it. In v2 the Job controller or the runtime's "
        "plugin sets it in every pod, and the program takes the other branch."
    ),
    remedy="Check whether that branch is correct here; if not, make the program test a variable of its own.",
    explains=("none",),
    limits_proof=True,
)
DECIDES = Topic(
    id="HOST031",
    title="a rank or a shard is taken from a variable that only v2 sets",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The program takes a rank or a shard from a variable that v1 does not set, compares it, or forms the group of processes "
        "only where it is set: `--shard ${JOB_COMPLETION_INDEX:-0}`, `if 'JAX_COORDINATOR_ADDRESS' in os.environ`. In v1 each "
        "process took the default, as one shard for all; in v2 each has its own, and trains on other data or with others."
    ),
    remedy=(
        "Take the rank from a variable that v1 and v2 both set; suppress with --accept HOST031 if v2's value is the one that "
        "is meant."
    ),
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
OVERRIDDEN = Topic(
    id="ENV006",
    title="a variable of envFrom is overridden in v2",
    severity="warning",
    change="semantic-change",
    grade="L",
    explanation=(
        "A ConfigMap or Secret in envFrom sets a variable that v1 left to the user and v2 sets in env. env takes precedence "
        "over envFrom, so the program gets v2's value."
    ),
    remedy="Compare the value with the one that v2 sets, and pass it to the program as an argument if it must differ.",
    limits_proof=True,
)
_OF_PLUGINS: dict[str, tuple[str, ...]] = {
    "torch": TORCHRUN_ENVIRONMENT,
    "jax": PROCESS_ENVIRONMENT,
    "mpi": (*OPEN_MPI_ENVIRONMENT, "SSH_CONNECTION", "SSH_CLIENT"),  # mpirun starts processes by ssh
    "xgboost": TRACKER_ENVIRONMENT,
}
_OF_GROUPS = frozenset({COMPLETION_INDEX_ENV, *TORCHRUN_ENVIRONMENT, *PROCESS_ENVIRONMENT, *TRACKER_ENVIRONMENT})
"""Those that tell a process which of its group it is, and where that meets."""
_FORMS_GROUP = frozenset({"initialize", "init_process_group", "init", "init_device_mesh"})
_ADDRESS = PROCESS_ENVIRONMENT[-1]
_INITIALIZES = late_pattern(r"\bdistributed\.initialize\(\s*(?:\)|local_device_ids|initialization_timeout)")
"""JAX without arguments about the group: it looks for the variable."""
_OTHERWISE = late_pattern(
    rf"[^\n]{{0,40}}?{COMPLETION_INDEX_ENV}(?:[\"'],\s*|:?-|[\"'\])]*\s*(?:or|\|\||\?\?)\s+)[^\w\n]{{0,3}}(?:os\.)?"
    r"(?:environ|getenv|process\.env)?[^\w\n]{0,3}(?:get\([\"'])?(RANK|PET_NODE_RANK|PROCESS_ID)\b"
)
"""Up to the variable that is asked for otherwise: `${JOB_COMPLETION_INDEX:-$RANK}`."""
_SMALL_LETTERS = late_pattern(r"\benviron\b[\s\S]*\.(?:lower|casefold)\(|\.(?:lower|casefold)\([\s\S]*\benviron\b")
"""A program that writes the names of all variables in small letters."""
_JOINT = late_pattern(r"""["']\s*\+?\s*["']""")
"""Where a program joins two literals."""


def apply(draft: Draft) -> None:
    """Reports each text once for each variable."""
    for programs in all_programs(draft):
        new = only_in_v2(draft, programs)
        _look_at_sources(draft, programs, new)
        texts = programs.texts
        if not any(name.partition("_")[0] in text.upper() for name in new for text, _ in texts):
            continue
        deciding = _deciding(draft, programs, new)
        for one in deciding.values():
            path, offset = place(programs, one.spot, one.spot.offset(one.start))
            line = quoted(one.text, one.start, one.spot, with_number=True)
            says = f"{line} decides by {one.read.name}, which is not set in v1 and is set in v2."
            draft.report(DECIDES, path, says, offset=offset)
        pattern = re.compile(rf"\b(?:{'|'.join(map(_in_pieces, new))})\b(?!\s*=[^=])")
        in_small_letters = re.compile(rf"[\"'](?:{'|'.join(new).lower()})[\"']")
        for text, spot in texts:
            found: dict[str, int] = {}
            for match in pattern.finditer(text):
                found.setdefault(_JOINT.sub("", match[0]), match.start())
            for match in in_small_letters.finditer(text) if _SMALL_LETTERS.search(text) else ():
                found.setdefault(match[0][1:-1].upper(), match.start())
            if _ADDRESS in new and (call := _INITIALIZES.search(text)):
                found.setdefault(_ADDRESS, call.start())
            for name, start in found.items():
                if (spot.file, spot.path, name) in deciding:
                    continue
                path, offset = place(programs, spot, spot.offset(start))
                says = f"{quoted(text, start, spot)} asks for {name}, which is not set in v1 and is set in v2."
                draft.report(ONLY_IN_V2, path, says, offset=offset)
        for one in _by_options(draft, programs, new):
            path, offset = place(programs, one.spot, one.spot.offset(one.start))
            line = quoted(one.text, one.start, one.spot)
            says = f"{line} is an option filled from {one.read.name}, which is not set in v1 and is set in v2."
            draft.report(ONLY_IN_V2, path, says, offset=offset)


def _by_options(draft: Draft, programs: Programs, new: Sequence[str]) -> Iterator[PodRead]:
    """Options that a library fills from variables, which it names by a prefix and the option: `--nnodes` of PET_NNODES."""
    if has_any(programs, PREFIXES):
        names = {name: name for name in new}
        found: dict[tuple[str, Path, str], PodRead] = {}
        for one in pod_reads(programs.container, programs.volumes, draft.texts_of, names):
            if one.read.name in names and one.read.name not in one.text:
                found.setdefault((one.spot.file, one.spot.path, one.read.name), one)
        yield from found.values()


def _deciding(draft: Draft, programs: Programs, new: Sequence[str]) -> dict[tuple[str, Path, str], PodRead]:
    """The first place of each text that takes a rank or a shard from such a variable, or forms the group only with it."""
    names = {name: name for name in new if name in _OF_GROUPS}
    found: dict[tuple[str, Path, str], PodRead] = {}
    is_named = has_any(programs, (*names, "environ"))  # most programs name none, and reads take long
    for one in pod_reads(programs.container, programs.volumes, draft.texts_of, names) if is_named else ():
        if one.read.decides and one.read.name in names and not _is_rank_otherwise(draft, one):
            found.setdefault((one.spot.file, one.spot.path, one.read.name), one)
    for text in python_texts(programs.container, programs.volumes, draft.texts_of):
        for name, start in _conditions(text.text, [*names]):
            one = PodRead(Read(name, start, decides=True), text.spot, text.text, start)
            found.setdefault((text.spot.file, text.spot.path, name), one)
    return found


def _conditions(code: str, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The variables, and where, without which the code forms no group: it asks whether they are set, or goes on without them."""
    if not any(name in code for name in names) and not _INITIALIZES.search(code):
        return
    tree = python_code.parsed(code)
    lines = python_code.Lines(code)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.If, ast.Try)):
            continue
        calls = [one for inner in node.body for one in ast.walk(inner) if isinstance(one, ast.Call)]
        if isinstance(node, ast.Try) and _ADDRESS in names:
            yield from ((_ADDRESS, lines.span(one)[0]) for one in calls if _INITIALIZES.search(ast.unparse(one)))
        elif isinstance(node, ast.If) and any(python_code.called(one) in _FORMS_GROUP for one in calls):
            asked = ast.unparse(node.test)
            yield from ((name, lines.span(node.test)[0]) for name in names if name in asked)


def _is_rank_otherwise(draft: Draft, one: PodRead) -> bool:
    """Whether the program takes the rank that v1 gives it where the index of v2 is not set: both are the same, where the pods are
    of one group."""
    variables = draft.operator_variables(draft.groups[0].roles[0])
    match = _OTHERWISE.match(one.text, one.start)
    return len(draft.groups) == 1 and match is not None and match[1] in variables and one.read.name == COMPLETION_INDEX_ENV


def only_in_v2(draft: Draft, programs: Programs) -> list[str]:
    """The variables that the container has in v2 and not in v1."""
    of_plugin = [name for policy in draft.ml_policy for name in _OF_PLUGINS.get(policy, ())]
    is_told = programs.group.trains and programs.field == "containers"
    names = [COMPLETION_INDEX_ENV, *([*of_plugin, *REPORT_ENVIRONMENT] if is_told else ())]
    own = {str(variable.get("name")) for variable in programs.container.get("env") or ()}
    in_v1 = own | draft.operator_variables(programs.roles[0])
    return [name for name in names if name not in in_v1]


def _look_at_sources(draft: Draft, programs: Programs, names: list[str]) -> None:
    """Says which of the variables a ConfigMap or a Secret of envFrom sets, if the input has it."""
    for index, source in enumerate(programs.container.get("envFrom") or ()):
        for title, given in env_sources(source, draft.texts_of):
            if overridden := [name for name in names if name in given]:
                says = f"{title} sets {', '.join(overridden)}, which v2 sets itself."
                draft.report(OVERRIDDEN, (*programs.path, "envFrom", index), says)


def _in_pieces(name: str) -> str:
    """A pattern for the name, also where it is put together of literals at an underscore."""
    joint = f"(?:{_JOINT.pattern})?"
    return f"{joint}_{joint}".join(name.split("_"))

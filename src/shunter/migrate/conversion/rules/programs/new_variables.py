"""Variables that only v2 sets: programs that ask for one took another way in v1, and one of envFrom is overridden."""

from __future__ import annotations

import re

from shunter.api.late_patterns import late_pattern
from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.controllers.job.pods import COMPLETION_INDEX_ENV
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.mounted_files import env_sources
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted
from shunter.migrate.findings import Topic
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
_ADDRESS = PROCESS_ENVIRONMENT[-1]
_INITIALIZES = late_pattern(r"\bdistributed\.initialize\(\s*(?:\)|local_device_ids|initialization_timeout)")
"""JAX told nothing of the group: it looks for the variable."""
_SMALL_LETTERS = late_pattern(r"\benviron\b[\s\S]*\.(?:lower|casefold)\(|\.(?:lower|casefold)\([\s\S]*\benviron\b")
"""A program that writes the names of all variables in small letters."""
_JOINT = late_pattern(r"""["']\s*\+?\s*["']""")
"""Where a program joins two literals."""


def apply(draft: Draft) -> None:
    """Tells of each text once for each variable."""
    for programs in all_programs(draft):
        new = only_in_v2(draft, programs)
        _look_at_sources(draft, programs, new)
        texts = programs.texts
        if not any(name.partition("_")[0] in text.upper() for name in new for text, _ in texts):
            continue
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
                path, offset = place(programs, spot, spot.offset(start))
                says = f"{quoted(text, start, spot)} asks for {name}, which is not set in v1 and is set in v2."
                draft.report(ONLY_IN_V2, path, says, offset=offset)


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

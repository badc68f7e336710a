"""Programs that ask for a variable which only v2 sets: in v1 it was not there, and they took another way."""

from __future__ import annotations

import re

from shunter.api.trainer.torch_validation import TORCHRUN_ENVIRONMENT
from shunter.cluster.controllers.job.pods import COMPLETION_INDEX_ENV
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.pod_reads import words_and_texts
from shunter.migrate.conversion.rules.programs.texts import all_programs, place, quoted
from shunter.migrate.findings import Topic
from shunter.operator.trainer.plugins.mpi import OPEN_MPI_ENVIRONMENT
from shunter.operator.trainer.plugins.xgboost import TRACKER_ENVIRONMENT

ONLY_IN_V2 = Topic(
    id="HOST014",
    title="a program reads a variable that only v2 sets",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 the variable is not there, so the program goes the way that it takes without it. In v2 the Job controller or the "
        "runtime's plugin sets it in every pod, and the program goes the other way."
    ),
    remedy="Look whether the other way is right here; if not, have the program look for a variable of its own.",
    effort=1,
    explains=("none",),
    limits_proof=True,
)
_OF_PLUGINS: dict[str, tuple[str, ...]] = {
    "torch": TORCHRUN_ENVIRONMENT,
    "mpi": (*OPEN_MPI_ENVIRONMENT, "SSH_CONNECTION", "SSH_CLIENT"),  # mpirun starts processes by ssh
    "xgboost": TRACKER_ENVIRONMENT,
}
_JOINT = re.compile(r"""["']\s*\+?\s*["']""")
"""Where a program joins two literals."""


def apply(draft: Draft) -> None:
    """Tells of each text once for each variable."""
    of_plugin = [name for policy in draft.ml_policy for name in _OF_PLUGINS.get(policy, ())]
    for programs in all_programs(draft):
        texts = words_and_texts(programs.container, programs.volumes, draft.texts_of)
        names = [COMPLETION_INDEX_ENV, *(of_plugin if programs.group.trains and programs.field == "containers" else ())]
        if not any(name.partition("_")[0] in text for name in names for text, _ in texts):
            continue
        own = {str(variable.get("name")) for variable in programs.container.get("env") or ()}
        new = [name for name in names if name not in own | draft.operator_variables(programs.roles[0])]
        pattern = re.compile(rf"\b(?:{'|'.join(map(_in_pieces, new))})\b(?!\s*=[^=])")
        for text, spot in texts:
            found: dict[str, int] = {}
            for match in pattern.finditer(text) if new else ():
                found.setdefault(_JOINT.sub("", match[0]), match.start())
            for name, start in found.items():
                path, offset = place(programs, spot, spot.offset(start))
                says = f"{quoted(text, start, spot)} asks for {name}, which is not set in v1 and is set in v2."
                draft.report(ONLY_IN_V2, path, says, offset=offset)


def _in_pieces(name: str) -> str:
    """A pattern for the name, also where it is put together of literals at an underscore."""
    joint = f"(?:{_JOINT.pattern})?"
    return f"{joint}_{joint}".join(name.split("_"))

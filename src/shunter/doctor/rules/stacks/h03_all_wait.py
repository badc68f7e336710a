"""H03: all ranks wait in two samples, without progress: for the network, or a rank outside the job. Names no link.

If they wait in different collectives, or at different lines, their calls may not match; a rank that the network cut off may also
be a call behind. If all receive, a message may have been lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.formats.counts import joined
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rank_texts import call, called, collective
from shunter.doctor.rules.logs.t04_name import OF_THE_JOB, retried_names
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks import h04_recorder
from shunter.doctor.rules.stacks.h01_hung import needs
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import Rank, group, progress

_CONNECTION = "the silent connection with NCCL (ncclras, NCCL_DEBUG=INFO); compare the flight recorders of the ranks."
_MISSING = {"recv": "sends", "send": "receives"}
"""What no rank does, by the call in which all ranks wait."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on two samples in which all ranks wait, each the same in both, without progress. Only possible, unless their
    logs end with warnings of a host name that does not resolve; none if the flight recorders differ (H04)."""
    ranks = group(case)
    if ranks is None or not ranks.is_whole or len(ranks.ranks) < 2 or not all(rank.is_same for rank in ranks.ranks):
        return []
    joining = len(ranks.doing("rendezvous")) == len(ranks.ranks)
    if not joining and len(ranks.doing("collective")) != len(ranks.ranks):
        return []
    made = progress(case, ranks)
    if made.is_made or h04_recorder.judge(case):
        return []
    number = len(ranks.ranks)
    retries = retried_names(case) if joining else []
    if retries:
        who = joined([f"{rank_list(one.ranks)} cannot resolve the host name {one.host}" for one in retries])
        text = f"all {number} ranks wait in the rendezvous, because {who}"
        remedy = OF_THE_JOB
    elif joining:
        text = f"all {number} ranks wait in the rendezvous: for another rank, or for an address where no process listens"
        remedy = f"WORLD_SIZE and --nnodes must match the job ({number}). Use the MASTER_ADDR and MASTER_PORT that the job sets."
    elif len(calls := _calls(ranks.ranks)) > 1:
        each = "; ".join(f"{rank_list(numbers)} in {name}" for name, numbers in calls.items())
        text = f"all {number} ranks wait, but in different collectives: {each}"
        remedy = "Look for a rank with fewer batches, or tensors of another size, than others; a collective under `if rank ==`."
    elif missing := _MISSING.get(name := next(iter(calls))):
        text = f"all {number} ranks wait in {name}, and none {missing}: their order does not match, or the network lost a message"
        remedy = "Each recv needs a matching send on the other rank: order them by rank, or use batch_isend_irecv for both."
    elif len({called(rank) for rank in ranks.ranks}) > 1:
        text = (
            f"all {number} ranks wait in {name}, called from different lines: their order differs, or they wait for the network"
        )
        remedy = f"All ranks must make the same calls in the same order, with each process group. If they do, find {_CONNECTION}"
    else:
        text = f"all {number} ranks wait in a collective: for the network, or for a rank outside the job"
        remedy = f"Find {_CONNECTION}"
    return [
        Verdict(
            id="H03",
            title="HUNG" if retries else "MAY BE HUNG",
            cause=text,
            confidence="likely" if retries else "possible",
            ranks=tuple(rank.rank for rank in ranks.ranks),
            pods=tuple(dict.fromkeys(rank.pod for rank in ranks.ranks)),
            evidence=(
                *(Excerpt(source="stack", text=call(rank), pod=rank.pod, rank=rank.rank) for rank in ranks.ranks),
                Excerpt(source="log", text=made.text),
                *(excerpt for one in retries for excerpt in one.excerpts),
            ),
            remedy=remedy,
        )
    ]


def _calls(ranks: Sequence[Rank]) -> dict[str, list[int]]:
    """The ranks by the call in which they wait, the fewest first."""
    found: dict[str, list[int]] = {}
    for rank in ranks:
        found.setdefault(collective(rank), []).append(rank.rank)
    return dict(sorted(found.items(), key=lambda item: len(item[1])))


RULE = Rule("H03", judge, needs)

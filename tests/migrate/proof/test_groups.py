"""What programs take for their group of processes, by the launcher that starts them."""

from __future__ import annotations

import pytest

from migrate.proof.jobs import changed, converted, environment, pytorch
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.pods.differences import Matched, matched
from shunter.migrate.pods.sides import v1_side, v2_side
from shunter.migrate.proof.groups import Member, breaches, faults, members


def both(conversion: Conversion) -> Matched:
    return matched(v1_side(conversion.source.value), v2_side(conversion.train_job, conversion.runtime))


@pytest.mark.parametrize(
    ("command", "last"),
    [
        pytest.param(["python", "train.py"], Member("3", "2", "<Master 0>"), id="python"),
        pytest.param(["torchrun", "--nproc_per_node=2", "train.py"], Member("3 x 2", "2", "<Master 0>"), id="torchrun"),
        pytest.param(
            ["sh", "-c", "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR --nproc-per-node 8 t.py"],
            Member("3 x 8", "2", "<Master 0>"),
            id="torchrun-told-by-the-shell",
        ),
        pytest.param(["unknown"], Member("3", "2", "<Master 0>"), id="unknown-program"),
    ],
)
def test_nodes_are_one_group_on_both_sides(command: list[str], last: Member) -> None:
    found = members(both(converted(pytorch(2, command))))
    assert [before for _, before, _ in found] == [after for _, _, after in found]
    assert found[-1][2] == last


def test_nodes_that_would_each_train_alone_are_a_breach_whatever_explains_it() -> None:
    def without_shim(train_job: Json, runtime: Json) -> None:
        environment(runtime).clear()

    apart = both(changed(converted(pytorch(2)), without_shim))
    assert [text for _, text in breaches(apart)] == ["Worker 1 is on its own in v2, so its pods do not form a group."]
    assert len([*faults(apart)]) == 3


def test_one_rank_twice_is_a_breach() -> None:
    def same_rank(train_job: Json, runtime: Json) -> None:
        next(variable for variable in environment(runtime) if variable["name"] == "RANK")["value"] = "0"

    assert len([*breaches(both(changed(converted(pytorch(2)), same_rank)))]) == 1


def test_a_group_that_was_none_in_v1_need_be_none_in_v2() -> None:
    def without_shim(train_job: Json, runtime: Json) -> None:
        environment(runtime).clear()

    assert [*breaches(both(changed(converted(pytorch(2, master=False)), without_shim)))] == []

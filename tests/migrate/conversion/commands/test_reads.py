"""Names that stand for a rank."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.commands.reads import is_rank


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "NODE_RANK",
        "--node-rank",
        "machine_rank",
        "shard",
        "--shard-index",
        "task_id",
        "worker_id",
        "IDX",
        "shard_from",
        "rank-by",
        "shardKey",
    ],
)
def test_name_of_a_rank(name: str) -> None:
    assert is_rank(name)


@pytest.mark.parametrize(
    "name",
    ["--name", "OUTPUT", "JOB", "--run-id", "franking", "PIDS", "--log-dir", "hosts", "shard_dir", "rank_log", "partition_key"],
)
def test_name_of_no_rank(name: str) -> None:
    assert not is_rank(name)

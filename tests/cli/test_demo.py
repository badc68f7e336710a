"""What the demo accepts as a success."""

from shunter.cli.demo import reported_world_sizes


def test_world_sizes_are_what_the_ranks_printed_themselves() -> None:
    lines = {
        "master-0": ["noise", "Rank 0/2 initialized (gloo on cpu)"],
        "worker-0": ["Rank 1/2 initialized (gloo on cpu)", "Rank 1/2 initialized (gloo on cpu)"],
    }
    assert reported_world_sizes(lines) == {0: 2, 1: 2}
    assert reported_world_sizes({"master-0": ["Training completed successfully!"]}) == {0: 1}
    assert reported_world_sizes({"master-0": ["Traceback"]}) == {}

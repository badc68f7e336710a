"""The kubectl that launchers find on our nodes: its command line, and that it is one file. What it does, e2e tests show."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cluster.node.programs.kubectl_exec import Problem, Request, in_cluster, parsed


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("exec ring-worker-0 -- /bin/sh -c true", Request("ring-worker-0", ("/bin/sh", "-c", "true"))),
        ("exec ring-worker-0 --container side -- ls", Request("ring-worker-0", ("ls",), container="side")),
        ("exec -i -n team-a --container=side pod/p -- cat -n", Request("p", ("cat", "-n"), "side", "team-a", True)),
        ("exec --stdin=false p -- ls", Request("p", ("ls",))),
        ("exec p -- sh -- x", Request("p", ("sh", "--", "x"))),
    ],
)
def test_the_command_line_is_kubectls(line: str, request_: Request) -> None:
    assert parsed(line.split()) == request_


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("get pods", "only supports"),
        ("", "only supports"),
        ("exec p", "at least one command"),
        ("exec p ls", "one pod"),
        ("exec -- ls", "one pod"),
        ("exec -t p -- ls", "unknown flag: -t"),
    ],
)
def test_what_it_does_not_know_is_named(line: str, complaint: str) -> None:
    with pytest.raises(Problem, match=complaint):
        parsed(line.split())


def test_outside_of_a_pod_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no pod of a cluster"):
        in_cluster({})
    with pytest.raises(Problem, match="no service account in this pod"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)

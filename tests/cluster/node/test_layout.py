"""Where the node keeps what belongs to a pod."""

from __future__ import annotations

from pathlib import Path

from shunter.cluster.node.layout import NodeDirectory


def test_everything_of_a_pod_lies_below_its_directory(tmp_path: Path) -> None:
    pod = NodeDirectory(tmp_path).pod("u")
    of_pod = [pod.pod_file, pod.gpus_file, pod.sandbox_file, pod.namespaces, pod.shm, pod.volume("v"), pod.attempt("c", 0)]
    assert len({*of_pod}) == len(of_pod)
    assert all(path.is_relative_to(tmp_path / "pods" / "u") for path in of_pod)
    assert pod.uid == "u"


def test_attempts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    pod = NodeDirectory(tmp_path).pod("u")
    assert pod.attempts("c") == []
    for number in (10, 2, 0):
        (pod.attempt("c", number) / "root").mkdir(parents=True)
    assert pod.attempts("c") == [0, 2, 10]
    assert {path.parent for path in pod.roots()} == {pod.attempt("c", number) for number in (0, 2, 10)}


def test_pods_are_those_that_left_a_directory(tmp_path: Path) -> None:
    node = NodeDirectory(tmp_path)
    assert node.pods() == []
    for uid in "ba":
        node.pod(uid).path.mkdir(parents=True)
    assert [pod.uid for pod in node.pods()] == ["a", "b"]

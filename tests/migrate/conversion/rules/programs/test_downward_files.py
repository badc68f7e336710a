"""Programs that decide by a file of the downward API: where a container has the file, and what they look for in it."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, shell
from shunter.api.meta import Json


def told(text: str, item: str = "labels", **mount: str) -> list[str]:
    items = [{"path": item, "fieldRef": {"fieldPath": "metadata.labels"}}]
    pod: Json = {"volumes": [{"name": "i", "downwardAPI": {"items": items}}]}
    mounts = [{"name": "i", "mountPath": "/i", **mount}]
    findings = converted(shell(text), pod=pod, volumeMounts=mounts).findings
    return [one.message for one in findings if one.topic.id == "HOST009"]


READS = "R=$(grep replica-index {} | cut -d= -f2)\npython train.py $R"


@pytest.mark.parametrize(
    ("item", "mount", "path"),
    [
        ("labels", {}, "/i/labels"),
        ("a/labels", {}, "/i/a/labels"),
        ("a/labels", {"subPath": "a"}, "/i/labels"),
        ("labels", {"subPath": "labels"}, "/i"),
    ],
    ids=["all", "in a directory", "of a directory", "one file"],
)
def test_a_file_is_where_it_is_mounted(item: str, mount: dict[str, str], path: str) -> None:
    (message,) = told(READS.format(path), item, **mount)
    assert f"decides by {path}, in which training.kubeflow.org/replica-index is" in message


@pytest.mark.parametrize(
    ("item", "mount", "path"),
    [("a/labels", {"subPath": "a"}, "/i/a/labels"), ("labels", {"subPath": "a"}, "/i/labels")],
    ids=["directory that is left out", "file that is not mounted"],
)
def test_a_file_is_nowhere_else(item: str, mount: dict[str, str], path: str) -> None:
    assert not told(READS.format(path), item, **mount)


@pytest.mark.parametrize("comment", ["never replica-index", "not by replica-type"])
def test_a_comment_looks_for_no_label(comment: str) -> None:
    assert not told(f"R=$(grep team= /i/labels | cut -d= -f2) # {comment}\npython train.py $R")

"""Whatever a job's manifest looks like: what is written of it reads as the result, and has every comment of the source."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrate.generated_jobs import JOBS
from shunter.api.yaml import Loader
from shunter.migrate.conversion.emit import text_of
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.options import Options

WORDS = st.text("abcxz", min_size=1, max_size=6)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        (
            "yes",
            "no",
            "on",
            "y",
            "null",
            "~",
            "1e3",
            "0o7",
            "0777",
            "1:30",
            "2024-01-01",
            "a: b",
            "a #b",
            "- x",
            "",
            " x",
            "x ",
            "'",
            '"',
        )
    ),
    st.sampled_from(
        ("a\nb\n", "a\nb", "a\n\n", "\na", "  a\nb", "#!/bin/sh\n# no comment\nrun\n", "a\n  \nb", "\n", "a\n   ", "a\tb\n")
    ),
)
COMMENTS = st.integers(0, 10**6).map(lambda number: f"# remark {number}: {{x}} 'y'")


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    def container(name: str) -> dict[str, Any]:
        names = draw(st.lists(WORDS, max_size=3, unique=True))
        return {
            "name": name,
            "image": draw(st.sampled_from(("train:1", "registry.example.org:5000/a/b@sha256:0f"))),
            **({"command": draw(st.lists(TEXTS, min_size=1, max_size=3))} if draw(st.booleans()) else {}),
            **({"args": draw(st.lists(TEXTS, max_size=3))} if draw(st.booleans()) else {}),
            **({"env": [{"name": name, "value": draw(TEXTS)} for name in names]} if draw(st.booleans()) else {}),
            **({"workingDir": draw(TEXTS)} if draw(st.booleans()) else {}),
        }

    def role() -> dict[str, Any]:
        spec = {"containers": [container("pytorch")], "nodeSelector": draw(st.dictionaries(WORDS, TEXTS, max_size=2))}
        metadata = {"annotations": draw(st.dictionaries(WORDS, TEXTS, max_size=2))}
        return {"replicas": 1, "restartPolicy": "OnFailure", "template": {"metadata": metadata, "spec": spec}}

    roles = {"Master": role(), **({"Worker": role()} if draw(st.booleans()) else {})}
    fields = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "job", "labels": draw(st.dictionaries(WORDS, WORDS, max_size=3))},
        "spec": {"runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 3}, "pytorchReplicaSpecs": roles},
    }
    return {key: fields[key] for key in draw(st.permutations(list(fields)))}


class Typist:
    """Writes values as people do: some in brackets, with remarks anywhere."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.comments: list[str] = []
        self.is_kept = False
        """Whether a block scalar has just ended to which an empty line would belong."""
        self.step = draw(st.sampled_from((2, 4)))
        self.dash = draw(st.sampled_from((0, 2)))

    def maybe_comment(self, indent: int) -> None:
        for _ in range(self.draw(st.sampled_from((0, 0, 0, 1, 2)))):
            if self.draw(st.booleans()):
                self.lines.append(" " * indent + self.comment())
                self.is_kept = False
            elif not self.is_kept:
                self.lines.append("")

    def comment(self) -> str:
        comment = self.draw(COMMENTS)
        self.comments.append(comment)
        return comment

    def behind(self) -> str:
        return f"  {self.comment()}" if self.draw(st.integers(0, 2)) == 2 else ""

    def mapping(self, value: dict[str, Any], indent: int) -> None:
        for key, inner in value.items():
            self.maybe_comment(indent)
            self.field(f"{' ' * indent}{key}:", inner, indent, indent + self.step, indent + self.dash)

    def field(self, head: str, value: Any, indent: int, deeper: int, items: int) -> None:
        if isinstance(value, dict | list) and value and self.draw(st.integers(0, 5)):
            self.is_kept = False
            self.lines.append(head + self.behind())
            if isinstance(value, dict):
                self.mapping(value, deeper)
            else:
                for item in value:
                    self.maybe_comment(items)
                    self.item(item, items)
                self.maybe_comment(items)
        elif is_block_text(value) and self.draw(st.booleans()):
            ends = len(value) - len(value.rstrip("\n"))
            self.lines.append(f"{head} |{('-', '', '+')[ends]}" + self.behind())
            self.lines += [" " * deeper + line if line else "" for line in value.removesuffix("\n").split("\n")]
            self.is_kept = ends == 2
            return
        else:
            self.is_kept = False
            self.lines.append(f"{head} {escaped(value)}" + self.behind())

    def item(self, value: Any, indent: int) -> None:
        if isinstance(value, dict) and value and self.draw(st.booleans()):
            start = len(self.lines)
            (first, inner), *rest = value.items()
            self.field(f"{' ' * indent}- {first}:", inner, indent + 2, indent + 2 + self.step, indent + 2 + self.dash)
            assert self.lines[start].lstrip().startswith("- ")
            self.mapping(dict(rest), indent + 2)
        else:
            self.field(" " * indent + "-", value, indent, indent + 2, indent + 2)


def escaped(value: Any) -> str:
    """JSON that every YAML reader takes for what it is."""
    return re.sub(
        r"[\x7f-\x9f\ufeff\ufffe\uffff\u2028\u2029]", lambda it: f"\\u{ord(it[0]):04x}", json.dumps(value, ensure_ascii=False)
    )


def is_block_text(value: Any) -> bool:
    return value in ("a\nb\n", "a\nb", "a\n\n", "#!/bin/sh\n# no comment\nrun\n")


@st.composite
def manifests(draw: st.DrawFn) -> tuple[str, list[str]]:
    typist = Typist(draw)
    typist.maybe_comment(0)
    typist.mapping(draw(jobs()), 0)
    typist.maybe_comment(0)
    end = draw(st.sampled_from(("\n", "\r\n")))
    return end.join([*typist.lines, ""]), typist.comments


@st.composite
def manifests_of_any_kind(draw: st.DrawFn) -> tuple[str, list[str]]:
    typist = Typist(draw)
    typist.mapping(draw(JOBS), 0)
    return "\n".join([*typist.lines, ""]), typist.comments


def conversion_of(text: str, options: Options = Options()) -> Conversion:  # noqa: B008
    documents = parsed(text, "job.yaml")
    assert [finding.message for document in documents for finding in document.findings] == []
    (source,) = (found for document in documents for found in document.objects)
    return convert(source, options)


@pytest.mark.slow
@settings(max_examples=150)
@given(manifests())
def test_text_of_a_result_reads_as_the_result_and_keeps_every_comment(manifest: tuple[str, list[str]]) -> None:
    text, comments = manifest
    conversion = conversion_of(text)
    written = text_of(conversion)
    wanted = [value for value in (conversion.runtime, conversion.train_job) if value]
    assert list(yaml.load_all(written, yaml.CSafeLoader)) == wanted
    assert [comment for comment in comments if comment not in written] == []


@pytest.mark.slow
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    manifests_of_any_kind(),
    st.sampled_from((Options(), Options(profile="idiomatic", elastic_nodes="max"), Options(profile="plain"))),
)
def test_whatever_fields_a_job_has_what_is_written_is_its_result_with_all_comments(
    manifest: tuple[str, list[str]], options: Options
) -> None:
    text, comments = manifest
    conversion = conversion_of(text, options)
    written = text_of(conversion)
    wanted = [value for value in (conversion.runtime, conversion.train_job) if value]
    assert list(yaml.load_all(written, Loader)) == wanted
    assert [comment for comment in comments if comment not in written] == []

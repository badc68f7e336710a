"""What shells are told to run, by their options; and Makefiles as scripts."""

from __future__ import annotations

import shlex

import pytest

from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.shells import as_shell, is_makefile, is_shell_script, shell_operands


@pytest.mark.parametrize(
    ("line", "first", "is_text"),
    [
        ("bash -c x", "x", True),
        ("bash -ec x", "x", True),
        ("bash -euo pipefail -c x", "x", True),
        ("bash -c -e x", "x", True),
        ("bash -O extglob -c x", "x", True),
        ("bash --rcfile f -c x", "x", True),
        ("zsh -fc x", "x", True),
        ("bash x.sh -c y", "x.sh", False),
        ("bash -eo pipefail x.sh", "x.sh", False),
        ("bash +e x.sh", "x.sh", False),
        ("bash --login x.sh", "x.sh", False),
        ("sh -- x.sh", "x.sh", False),
        ("bash", None, False),
        ("bash -s", None, False),
    ],
)
def test_a_shell_reads_a_text_with_c_and_a_file_without(line: str, first: str | None, is_text: bool) -> None:
    words = shlex.split(line)
    found = shell_operands(words)
    assert words[found.start : found.start + 1] == ([] if first is None else [first])
    assert found.is_text == is_text


@pytest.mark.parametrize(
    ("text", "is_script"),
    [
        ("#!/bin/bash\necho", True),
        ("#!/usr/bin/env bash", True),
        ("#!/usr/bin/env -S bash -e", True),
        ("#! /bin/sh -e", True),
        ("#!/bin/bash\r\necho", True),
        ("#!/opt/conda/bin/zsh", True),
        ("#!/usr/bin/python", False),
        ("#!/usr/bin/env python3", False),
        ("# bash", False),
        ("\n#!/bin/bash", False),
        ("", False),
    ],
)
def test_only_the_first_line_says_that_a_shell_reads_a_text(text: str, is_script: bool) -> None:
    assert is_shell_script(text) == is_script


@pytest.mark.parametrize(
    ("makefile", "script"),
    [
        ("N := $(shell hostname)", "   N=$(      hostname)"),
        ("N ?= 3", "   N=3"),
        ("export N = $(M)", "         N=${M}"),
        ("\t@python t.py --rank=$(RANK)", "  python t.py --rank=${RANK}"),
        ("\tfor i in $$HOSTS; do echo $${i%%-*} $$(hostname); done", "\tfor i in $HOSTS ; do echo ${i%%-*}  $( hostname); done"),
        ("all: prepare\n", "all: prepare\n"),
    ],
)
def test_a_makefile_becomes_a_script_of_the_same_length(makefile: str, script: str) -> None:
    assert as_shell(makefile) == script
    assert len(script) == len(makefile)


@pytest.mark.parametrize(
    ("name", "expected"), [("Makefile", True), ("GNUmakefile", True), ("train.mk", True), ("make.sh", False)]
)
def test_a_makefile_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_makefile(SourceRange(("data", name), 0, 1, file="ConfigMap code")) is expected
    assert not is_makefile(SourceRange(("command", 0), 0, 1))

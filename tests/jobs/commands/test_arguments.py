"""A command line taken apart: options, their values, and what follows them."""

from __future__ import annotations

import pytest

from shunter.jobs.commands.arguments import Argument, Parsed, SourceRange, parsed
from shunter.jobs.commands.launcher_options import syntax

FORM = syntax("nnodes nproc-per-node rdzv-backend rdzv-endpoint", pairs="mca", abbreviates=True, m="module")


def words(text: str) -> list[Argument]:
    return [Argument(word, SourceRange()) for word in text.split()]


def options(found: Parsed) -> dict[str, str]:
    return {name: option.value for name, option in found.options.items()}


@pytest.mark.parametrize(
    ("text", "given", "rest"),
    [
        ("--nnodes=2 train.py --nnodes 3", {"nnodes": "2"}, "train.py --nnodes 3"),
        ("--nnodes 2 train.py", {"nnodes": "2"}, "train.py"),
        ("--nproc_per_node 8 t.py", {"nproc-per-node": "8"}, "t.py"),
        ("-nnodes 2 t.py", {"nnodes": "2"}, "t.py"),
        ("--nnodes= t.py", {"nnodes": ""}, "t.py"),
        ("--nnodes=a=b t.py", {"nnodes": "a=b"}, "t.py"),
        ("--nnodes 1 --nnodes 2 t.py", {"nnodes": "2"}, "t.py"),
        ("--mca btl tcp t.py", {"mca": "btl tcp"}, "t.py"),
        ("-m pkg.train", {"module": ""}, "pkg.train"),
        ("--standalone -- --odd.py", {"standalone": ""}, "--odd.py"),
        ("- t.py", {}, "- t.py"),
        ("--nnodes", {"nnodes": ""}, ""),
        ("--mca btl", {"mca": "btl"}, ""),
        ("", {}, ""),
    ],
)
def test_options_end_at_the_first_word_that_is_none(text: str, given: dict[str, str], rest: str) -> None:
    found = parsed(words(text), FORM)
    assert (options(found), " ".join(argument.value for argument in found.rest)) == (given, rest)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("--nnode 2 t.py", {"nnodes": "2"}),
        ("--nproc 2 t.py", {"nproc-per-node": "2"}),
        ("--rdzv-e a:1 t.py", {"rdzv-endpoint": "a:1"}),
        ("--rdzv 2 t.py", {"rdzv": ""}),
        ("--n 2", {"n": ""}),
    ],
)
def test_the_beginning_of_a_long_name_stands_for_it_where_it_is_the_only_one(text: str, given: dict[str, str]) -> None:
    """As with argparse, by which torchrun reads its options."""
    assert options(parsed(words(text), FORM)) == given
    exact = parsed(words(text), FORM._replace(abbreviates=False))
    assert set(options(exact).values()) == {""}


def test_all_options_are_kept_in_their_order_with_the_words_that_say_them() -> None:
    found = parsed(words("--nnodes 1 --mca a b --nnodes=2 t.py"), FORM)
    assert [(name, [word.value for word in option.words]) for name, option in found.given] == [
        ("nnodes", ["--nnodes", "1"]),
        ("mca", ["--mca", "a", "b"]),
        ("nnodes", ["--nnodes=2"]),
    ]


def test_a_place_in_decoded_text_is_that_of_the_word_that_holds_it() -> None:
    assert SourceRange(start=5).offset(3) == 8
    assert SourceRange(start=5, is_decoded=True).offset(3) == 5
    assert (SourceRange(file="Secret tokens").is_secret, SourceRange(file="ConfigMap Secret s").is_secret) == (True, False)

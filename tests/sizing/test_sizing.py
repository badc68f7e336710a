"""The answer as a whole: what is asked for, in which order it comes, and that it is JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.sizing import SizeOptions, size

LLAMA = "Llama-3.1-8B"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({}, "specify one of", id="nothing is given"),
        pytest.param({"model": LLAMA, "parameters": "8B"}, "specify one of", id="a model and a number"),
        pytest.param({"model": "Lama"}, "'Lama' is not known", id="a model that nobody knows"),
        pytest.param({"parameters": "0"}, "'0'", id="no parameters"),
        pytest.param({"parameters": "-8B"}, "'-8B'", id="a negative number"),
        pytest.param({"parameters": "1e9"}, "'1e9'", id="a number with an exponent"),
        pytest.param({"parameters": "\uff18B"}, "\uff18B", id="a digit beyond ASCII"),
        pytest.param({"model": LLAMA, "on": "p5.48xlargo"}, "'p5.48xlargo': not known", id="a machine that nobody knows"),
        pytest.param({"model": LLAMA, "instances": []}, "no machines", id="no machines"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        size(**arguments)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        SizeOptions(),
        SizeOptions(batch=10**6),
        SizeOptions(seq=10**9),
        SizeOptions(tokens=1),
        SizeOptions(strategy="qlora"),
        SizeOptions(nodes=64),
    ],
    ids=["defaults", "a huge batch", "a huge sequence", "one token", "quantized", "many machines"],
)
def test_the_answer_is_json_without_infinite_numbers_and_fits_come_first(options: SizeOptions) -> None:
    found = size(LLAMA, options)
    json.dumps(found.as_json(), allow_nan=False)
    verdicts = [option.verdict for option in found.choices]
    assert verdicts == sorted(verdicts, key=["fits", "tight", "unknown", "no"].index)
    assert len(found.as_json()["options"]) == len(found.choices)
    assert all(bool(option.reason) for option in found.choices if option.verdict == "no")


def test_machines_that_are_named_get_one_entry_each() -> None:
    found = size(LLAMA, on="p5.48xlarge,g5.48xlarge")
    assert [option.choice.instance.name for option in found.choices] == ["p5.48xlarge", "g5.48xlarge"]


def test_the_name_of_a_model_is_known_in_any_case() -> None:
    assert size(LLAMA.lower()) == size(LLAMA)


def test_a_number_of_parameters_is_sized_about_as_the_model_that_has_it() -> None:
    known, counted = size(LLAMA, SizeOptions(seq=8192)), size(parameters="8B", options=SizeOptions(seq=8192))
    assert abs(counted.needs.memory.total / known.needs.memory.total - 1) < 0.15


def test_a_directory_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the directory has no config\.json"):
        size(tmp_path)

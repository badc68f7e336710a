"""Numbers as people write them, and options that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.sizing.options import ManifestOptions, SizeOptions, amount, parameter_count


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8B", 8 * 10**9),
        ("70b", 70 * 10**9),
        (" 1.5B ", 1_500_000_000),
        ("350M", 350_000_000),
        ("8030261248", 8_030_261_248),
        ("1.1b", 1_100_000_000),
        ("2k", 2000),
        ("1", 1),
        ("1000T", 10**15),
    ],
)
def test_a_number_may_have_a_magnitude(text: str, number: int) -> None:
    assert amount("--tokens", text) == number


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "8 B", "8e9", "1,5B", "1.", ".5B", "8GB", "\uff18B", "1001T", "9" * 20, "9" * 400, f"1.{'0' * 400}B"]
)
def test_what_is_no_number_is_told_with_how_it_is_written(text: str) -> None:
    with pytest.raises(InputError, match="is not a number") as refused:
        amount("--tokens", text)
    assert refused.value.remedy == "Write it like --tokens 8B, 350M or 1.5B."


@pytest.mark.parametrize("text", ["8", "999k", "0.9M"])
def test_parameters_of_less_than_a_million_have_lost_their_unit(text: str) -> None:
    with pytest.raises(InputError, match="less than a million"):
        parameter_count(text)


@pytest.mark.parametrize(
    ("option", "value"),
    [(option, value) for option in ("batch", "tp", "pp", "cp", "lora_rank", "tokens") for value in (0, -1)]
    + [(option, 2**31) for option in ("seq", "batch", "tp", "pp", "cp", "lora_rank", "nodes")]
    + [
        ("batch", int("9" * 400)),
        ("tokens", 10**15 + 1),
        ("seq", -1),
        ("nodes", -1),
        ("optimizer", "adam"),
        ("precision", "fp8"),
        ("strategy", ""),
        ("loss", "x"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_the_name_of_its_option(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"--{option.replace('_', '-')} "):
        SizeOptions(**{option: value})


@pytest.mark.parametrize(
    "given",
    [
        {"name": "Bert"},
        {"namespace": "a.b"},
        {"api": "mpijob"},
        {"subnets": ("subnet-1", "sg-1")},
        {"security_groups": ("",)},
        {"reservation": "cr_1"},
        {"ami": "al2023@latest"},
        {"ami": "al2023"},
        {"image": "a b"},
        {"role": "a b"},
        {"zone": "a b"},
        {"subnets": "subnet-1"},
        {"name": 3},
    ],
)
def test_names_that_a_cloud_or_a_cluster_would_refuse_are_refused_here(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ManifestOptions(**given)


def test_an_image_is_pinned_by_its_version_or_its_id() -> None:
    for ami in ("", "al2023@v20260801", "bottlerocket@v1.20.3", "ami-0123abc"):
        assert ManifestOptions(ami=ami).ami == ami


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "My Job"}, "--name 'My Job'"),
        ({"name": "1a"}, "--name '1a'"),
        ({"namespace": "a.b"}, "--namespace 'a.b'"),
        ({"subnets": ("vpc-1",)}, "--subnet 'vpc-1' is not an ID."),
        ({"security_groups": ("sg-",)}, "--security-group 'sg-' is not an ID."),
        ({"ami": "al2023@latest"}, "--ami 'al2023@latest' does not pin an image."),
        ({"reservation": "r-1"}, "--capacity-reservation 'r-1' is not an ID."),
        ({"api": "job"}, "--api 'job' is not known."),
    ],
)
def test_names_that_cannot_be_meant_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        ManifestOptions(**values)
    assert message in raised.value.message

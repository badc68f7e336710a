"""What may stand in an address of the page."""

from __future__ import annotations

import pytest

from shunter.page.access.guard import RefusedError
from shunter.page.addresses import MOST_NAMESPACES, job_parameters, view_parameters


def query(count: int) -> str:
    return "&".join(["view=jobs", *(f"namespace=team-{number}" for number in range(count)), "namespace=team-0"])


def test_a_stream_is_of_no_more_namespaces_than_can_be_watched() -> None:
    assert len(view_parameters(query(MOST_NAMESPACES)).namespaces) == MOST_NAMESPACES
    with pytest.raises(RefusedError) as refused:
        view_parameters(query(MOST_NAMESPACES + 1))
    assert refused.value.refusal.status == 400
    assert "51 namespaces; at most 50" in refused.value.refusal.message


@pytest.mark.parametrize("name", ["a", "bert-large", "a.b", "x" * 63, "x" * 253])
def test_names(name: str) -> None:
    assert job_parameters({"namespace": "team-a", "kind": "TrainJob", "name": name}).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".",
        "a..b",
        "A",
        "-a",
        "a-",
        "a/b",
        "a%2fb",
        "a?b",
        "a\r\nb",
        "a\n",
        "a b",
        "\N{FULLWIDTH LATIN SMALL LETTER A}",
        "x" * 254,
    ],
)
def test_no_names(name: str) -> None:
    for match in ({"namespace": "team-a", "name": name}, {"namespace": name, "name": "bert"}):
        with pytest.raises(RefusedError):
            job_parameters({**match, "kind": "TrainJob"})


def test_a_namespace_has_no_dots() -> None:
    with pytest.raises(RefusedError):
        job_parameters({"namespace": "team.a", "kind": "TrainJob", "name": "bert"})

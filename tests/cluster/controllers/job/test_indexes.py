"""Index sets behave like sets of numbers, and are written as Kubernetes writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.controllers.job.indexes import Indexes

sets = st.sets(st.integers(0, 60))


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        pytest.param([], "", id="nothing is empty"),
        pytest.param([3], "3", id="one stands alone"),
        pytest.param([3, 4], "3,4", id="two neighbours are listed"),
        pytest.param([0, 1, 2, 5], "0-2,5", id="three neighbours are a range"),
        pytest.param([0, 1, 2, 3, 4, 7, 9, 10], "0-4,7,9,10", id="all forms"),
    ],
)
def test_indexes_are_written_as_kubernetes_does(indexes: list[int], text: str) -> None:
    assert str(Indexes.of(indexes)) == text


@given(sets)
def test_what_is_written_reads_back(indexes: set[int]) -> None:
    written = Indexes.of(indexes)
    assert Indexes.parse(str(written), 1000) == written


@given(sets, sets)
def test_union_and_overlap_are_those_of_sets(one: set[int], other: set[int]) -> None:
    assert Indexes.of(one) | Indexes.of(other) == Indexes.of(one | other)
    assert Indexes.of(one).overlap(Indexes.of(other)) == len(one & other)
    assert Indexes.of(one).total == len(one)


@given(sets, st.integers(0, 70))
def test_gaps_are_all_other_indexes_in_order(indexes: set[int], completions: int) -> None:
    assert list(Indexes.of(indexes).gaps(completions)) == [index for index in range(completions) if index not in indexes]


@given(sets, st.integers(0, 70))
def test_membership_is_that_of_sets(indexes: set[int], index: int) -> None:
    assert (index in Indexes.of(indexes)) == (index in indexes)


@pytest.mark.parametrize(
    ("text", "completions", "read"),
    [
        pytest.param("0-9", 4, "0-3", id="a range is cut at the completions"),
        pytest.param("1,7,8", 5, "1", id="indexes past the completions are dropped"),
        pytest.param("1,x,3-y,4", 9, "1,4", id="malformed parts are ignored"),
        pytest.param(f"1,²,٣,{'9' * 5000},4", 9, "1,4", id="only ASCII digits of 64 bits are an index"),
        pytest.param("4,0-1,2", 9, "0-2,4", id="order does not matter"),
    ],
)
def test_stored_indexes_are_read_for_the_completions_of_now(text: str, completions: int, read: str) -> None:
    assert str(Indexes.parse(text, completions)) == read

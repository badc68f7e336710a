"""What a label selector matches, written as a type and as it stands in an object."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.meta import Json
from shunter.api.selectors import LabelSelector, selects

LABELS = {"app": "web", "tier": ""}
KEYS, VALUES = st.sampled_from(("app", "tier", "no")), st.sampled_from(("web", "", "db"))
REQUIREMENTS = st.fixed_dictionaries(
    {"key": KEYS, "operator": st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Near"))},
    optional={"values": st.none() | st.lists(VALUES, max_size=2)},
)
SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.none() | st.dictionaries(KEYS, VALUES, max_size=2),
        "matchExpressions": st.none() | st.lists(REQUIREMENTS, max_size=3),
    },
)


def requirement(operator: str, *values: str, key: str = "app") -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param({}, True, id="an empty one matches everything"),
        pytest.param({"matchLabels": None, "matchExpressions": None}, True, id="null is empty"),
        pytest.param({"matchLabels": {"app": "web"}}, True, id="a label"),
        pytest.param({"matchLabels": {"app": "web", "no": "x"}}, False, id="a label that is missing"),
        pytest.param({"matchLabels": {"no": None}}, False, id="a null value is no absence"),
        pytest.param(requirement("In", "web", "db"), True, id="In"),
        pytest.param(requirement("In", "web", key="no"), False, id="In, without the label"),
        pytest.param(requirement("NotIn", "web"), False, id="NotIn"),
        pytest.param(requirement("NotIn", "web", key="no"), True, id="NotIn, without the label"),
        pytest.param(requirement("Exists", key="tier"), True, id="Exists, with an empty value"),
        pytest.param(requirement("DoesNotExist"), False, id="DoesNotExist"),
        pytest.param(requirement("Near", "web"), False, id="an unknown operator matches nothing"),
        pytest.param({"matchLabels": {"app": "web"}, **requirement("NotIn", "web")}, False, id="all of them hold"),
    ],
)
def test_a_selector_matches(selector: Json, matches: bool) -> None:
    assert selects(selector, LABELS) is matches


@given(SELECTORS)
def test_both_forms_of_a_selector_match_the_same(selector: Json) -> None:
    assert msgspec.convert(selector, LabelSelector).matches(LABELS) is selects(selector, LABELS)

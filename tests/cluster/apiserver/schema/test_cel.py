"""CEL rules by themselves. Their texts within answers are held to a real API server in `schema/`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema import cel


def _holds(expression: str, value: Any, old: Any = cel.NO_OLD, **more: Any) -> bool:
    return cel.compile_rule({"rule": expression, **more}).holds(value, old)


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("self.size() <= 2", ["a", "b"], True),
        ("has(self.x) && self.x > 1", {"x": 1}, False),
        ("self.filter(i, i.name == 'a').all(i, i.n > 0)", [{"name": "a", "n": 1}], True),
        ("self.exists(i, i in ['a', 'b'])", ["c"], False),
        ("self.matches('^[a-z]+$')", "abc", True),
        ("self.sum() == 3 && self.max() == 2 && self.isSorted()", [1, 2], True),
        ("self.find('[0-9]+') == '12'", "a12b", True),
        ("isIP(self.ip) && !isCIDR(self.ip) && isURL(self.url)", {"ip": "10.0.0.1", "url": "http://x"}, True),
        ("quantity(self) == quantity('1024') && quantity(self).isLessThan(quantity('1.5Ki'))", "1Ki", True),
        ("cidr('10.0.0.0/8').containsIP(self) && ip(self).family() == 4", "11.0.0.1", False),
        ("semver(self).isLessThan(semver('1.0.0')) && semver(self).isGreaterThan(semver('1.0.0-2'))", "1.0.0-rc.1", True),
        ("url(self).getHostname() == 'x' && url(self).getPort() == ''", "https://user@x/", True),
        ("format.dns1123Label().validate(self).hasValue()", "A_b", True),
        ("sets.contains(self, [1]) && lists.range(2) == [0, 1] && self.indexOf(1) == 1", [2, 1], True),
        ("self.all(i, v, i <= v) && self.transformList(i, v, i + v) == [1, 3]", [1, 2], True),
    ],
)
def test_rules_use_core_cel_and_the_functions_of_kubernetes(expression: str, value: Any, expected: bool) -> None:
    assert _holds(expression, value) is expected


def test_a_transition_rule_compares_with_the_old_value_and_needs_one() -> None:
    rule = cel.compile_rule({"rule": "self >= oldSelf"})
    assert not rule.applies_without_old
    assert rule.holds(2, 1)
    assert not rule.holds(1, 2)


def test_an_optional_old_value_may_be_absent() -> None:
    source: Json = {"rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": True}
    rule = cel.compile_rule(source)
    assert rule.applies_without_old
    assert [rule.holds(1, cel.NO_OLD), rule.holds(2, 1), rule.holds(1, 2)] == [True, True, False]


def test_the_word_oldself_in_a_text_makes_no_transition_rule() -> None:
    assert cel.compile_rule({"rule": "self != 'oldSelf'"}).applies_without_old


@pytest.mark.parametrize(
    ("expression", "fields"),
    [
        ("self.a <= 1", {"a"}),
        ("has(self.a) || self.b.c[0] == oldSelf.d", {"a", "b", "d"}),
        ("self.__in__ > 1 && self.s.matches('self.x')", {"__in__", "s"}),
        ("x.self.b == self.c", {"c"}),
        ("true", set()),
        ("self == oldSelf", None),
        ("self.all(name, name != '')", None),
        ("self['a'] == 1 && self.b == 1", None),
        ("self . a == 1", None),
        ("oldSelf.hasValue() ? self.a : true", None),
        ("oldSelf.?a.orValue(1) == self.b", None),
        (r"self.a == r'\' && self.b == 'x'", None),
        ("self.a == '''it's''' || self.b == ''", None),
    ],
)
def test_rule_says_which_fields_it_reads_and_all_in_case_of_doubt(expression: str, fields: set[str] | None) -> None:
    assert cel.compile_rule({"rule": expression}).reads == fields


def test_fields_that_only_the_message_reads_count() -> None:
    assert cel.compile_rule({"rule": "self.a > 1", "messageExpression": "'not ' + self.b"}).reads == frozenset({"a", "b"})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"rule": "self > 1"}, "failed rule: self > 1"),
        ({"rule": "self > 1", "message": "too small"}, "too small"),
        ({"rule": "self > 1", "message": "too small", "messageExpression": "'is ' + string(self)"}, "is 0"),
        ({"rule": "self > 1", "message": "too small", "messageExpression": "string(1 / self)"}, "too small"),
    ],
    ids=["none", "message", "messageExpression", "messageExpression that fails"],
)
def test_a_rule_says_the_most_specific_message_it_has(source: Json, message: str) -> None:
    assert cel.compile_rule(source).message(0, cel.NO_OLD) == message


def test_a_rule_that_runs_on_and_on_is_stopped_for_good() -> None:
    with pytest.raises(cel.EvaluationError, match="cost limit exceeded") as caught:
        _holds("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", list(range(2000)))
    assert caught.value.is_final


def test_properties_with_awkward_names_are_escaped() -> None:
    assert [cel.escaped(name) for name in ("a", "in", "a-b", "a.b/c", "x__y", "$ref")] == [
        "a",
        "__in__",
        "a__dash__b",
        "a__dot__b__slash__c",
        "x__underscores__y",
        "",
    ]


@pytest.mark.integration
def test_immutability_rules_do_not_load_the_library() -> None:
    program = """
import sys
from shunter.cluster.apiserver.schema import cel
rule = cel.compile_rule({"rule": "self == oldSelf"})
assert rule.holds(1, 1) and not rule.holds(1, 2)
assert not [name for name in sys.modules if name.startswith("cel_expr_python")]
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

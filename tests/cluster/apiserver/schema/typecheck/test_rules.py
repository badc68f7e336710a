"""Rules against the types of a schema; what a real server says of 300 more is in tests/vectors/cases/cel-types.yaml."""

from __future__ import annotations

import pytest

from cluster.apiserver.schema.typecheck.spec import SPEC
from shunter.cluster.apiserver.schema.typecheck.rules import CompiledRule, compiled_rule
from shunter.cluster.apiserver.schema.typecheck.schemas import declared


def compiled(rule: str, **more: object) -> CompiledRule:
    self_type = declared(SPEC, is_resource=True)
    assert self_type is not None
    return compiled_rule({"rule": rule, **more}, self_type)


@pytest.mark.parametrize(
    ("rule", "at", "fault"),
    [
        ("self.missing == 1", 5, "undefined field 'missing'"),
        ("self.anything == 1", 5, "undefined field 'anything'"),
        ("self.metadata.labels.size() > 0", 14, "undefined field 'labels'"),
        ("self.count == 'x'", 12, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.name.size(1) == 1", 15, "found no matching overload for 'size' applied to 'string.(int)'"),
        ("self.names.all(n, n > 1)", 21, "found no matching overload for '_>_' applied to '(string, int)'"),
        (
            "self.count.all(n, true)",
            5,
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("self.names.all(n.x, true)", 17, "argument must be a simple name"),
        ("cel.bind(x, 1, x == 1)", 1, "undeclared reference to 'cel' (in container '')"),
        ("self.when > timestamp('x')", 23, "invalid timestamp argument"),
        ("self.name.matches('(')", 19, "invalid matches argument"),
        ("[1, 'a'].size() > 1", 5, "expected type 'int' but found 'string'"),
        ("self.`a-b` == 'x'", 6, "unsupported syntax: '`'"),
    ],
)
def test_a_rule_that_does_not_fit_the_schema_is_told_with_its_place(rule: str, at: int, fault: str) -> None:
    assert compiled(rule).fault.startswith(f"compilation failed: ERROR: <input>:1:{at}: {fault}\n | {rule}\n | {'.' * (at - 1)}^")


@pytest.mark.parametrize(
    "rule",
    [
        "self.count > 1.5",
        "self.port == 1 || self.port == '80%'",
        "self.sub == null",
        "self.a__dash__b == 'x'",
        "self.metadata.name == self.kind",
        "self.labels.all(k, v, k != v)",
        "'%s is %d'.format([self.name, self.count]) != ''",
        "self.?sub.?deep.?leaf.orValue(1) == 1",
        "type(self.port) == int",
    ],
)
def test_a_rule_that_fits_the_schema_compiles(rule: str) -> None:
    assert compiled(rule).fault == ""


@pytest.mark.parametrize("rule", ["self.name", "self.port", "dyn(true)", "self.names.map(n, true)"])
def test_a_rule_is_of_type_bool(rule: str) -> None:
    assert compiled(rule).fault == "cel expression must evaluate to a bool"


def test_what_is_no_expression_is_told_by_the_library() -> None:
    assert "<input>:1:7: Syntax error" in compiled("self >").fault


def test_faults_of_several_lines_show_their_line() -> None:
    fault = compiled("self.name == 'ä' &&\n\tself.count == 'x'").fault
    assert fault.endswith(
        "ERROR: <input>:2:13: found no matching overload for '_==_' applied to '(int, string)'\n |  self.count == 'x'\n | "
        + "." * 12
        + "^"
    )


def test_deep_and_long_expressions_are_read() -> None:
    assert compiled(" && ".join(["self.count > 1"] * 2000)).fault == ""
    assert compiled("(" * 30 + "true" + ")" * 30).fault == ""


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("self.name + '!'", ""),
        ("self.count", "messageExpression must evaluate to a string"),
        ("self.none", "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'none'\n | self.none\n | ....^"),
    ],
)
def test_a_message_is_a_text(message: str, fault: str) -> None:
    assert compiled("true", messageExpression=message).message_fault == fault


def test_an_optional_old_value_has_a_type_of_its_own() -> None:
    assert compiled("oldSelf.hasValue() && oldSelf.value().count < self.count", optionalOldSelf=True).fault == ""
    assert "optional_type(int), int" in compiled("oldSelf.count == self.count", optionalOldSelf=True).fault


def test_only_a_rule_that_reads_the_old_value_uses_it() -> None:
    assert compiled("self == oldSelf").uses_old_self
    assert not compiled("self.name != 'oldSelf' && self.names.all(oldSelf, oldSelf != '')").uses_old_self

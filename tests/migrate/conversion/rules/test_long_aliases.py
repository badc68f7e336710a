"""What cannot be joined is told with what makes it possible."""

from __future__ import annotations

from migrate.conversion.rules.test_indirect_reads import converted, shell


def test_a_line_too_long_for_musl_is_told_with_how_long_it_may_be() -> None:
    aliases = [{"ip": "10.0.0.1", "hostnames": [f"{half}{number:030}" for number in range(10)]} for half in ("a", "b")]
    findings = converted(shell("python t.py"), pod={"hostAliases": aliases}).findings
    remedies = {one.advice for one in findings if one.topic.id == "INPUT020"}
    assert len(remedies) == 1
    assert "510 bytes or fewer" in remedies.pop()

"""NetworkPolicies that keep ranks from each other."""

from __future__ import annotations

import pytest

from doctor.rule_cases import kept_apart
from job_evidence import NOW
from network_policy_cases import CASES as POLICY_CASES
from network_policy_cases import ingress, of_block
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize("case", POLICY_CASES.values(), ids=list(POLICY_CASES))
def test_a_policy_is_named_where_it_keeps_the_ranks_apart(case: tuple[list[Json], bool]) -> None:
    specs, is_open = case
    evidence = kept_apart(*specs)
    (found,) = (verdict for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "T07")
    said = ": NetworkPolicy closed selects the pods and does not allow port 23456" in found.cause
    assert (said, found.confidence) == (not is_open, "possible" if is_open else "likely")


def test_no_policy_is_named_that_is_not_about_the_pods_or_of_which_that_is_not_known() -> None:
    of_other_namespaces = ingress({"from": [{"namespaceSelector": {"matchLabels": {"team": "red"}}}]})
    unreadable = ingress({"from": [of_block("10.0.0.0/8", "x")]})
    from_anywhere = kept_apart(ingress({"from": [of_block("::/0")]}), addresses=("fd00::1", "fd00::2"))
    host_network = kept_apart(ingress(), spec={"hostNetwork": True})
    for evidence in (host_network, kept_apart(of_other_namespaces), kept_apart(unreadable), from_anywhere):
        (found,) = (verdict for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "T07")
        assert found.confidence == "possible"

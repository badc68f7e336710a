"""What ResourceQuotas and LimitRanges may not say, in the words of Kubernetes 1.36 (apis/core/validation)."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.builtin.rules.quotas import limit_range_errors, resource_quota_errors

SELECTOR = "spec.scopeSelector.matchExpressions"


def of_quota(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in resource_quota_errors({"spec": spec}, None if old is None else {"spec": old})]


def of_limits(*limits: dict[str, Any]) -> list[str]:
    return [str(error) for error in limit_range_errors({"spec": {"limits": list(limits)}}, None)]


def selecting(hard: str, **rule: Any) -> dict[str, Any]:
    return {"hard": {hard: "1"}, "scopeSelector": {"matchExpressions": [rule]}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"hard": {"pods": "2", "count/jobs.batch": "3", "requests.nvidia.com/gpu": "1", "limits.ephemeral-storage": "1Gi"}},
        {"hard": {"requests.hugepages-2Mi": "4Mi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi"}},
        {"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]},
        {"hard": {"requests.cpu": "1", "count/jobs.batch": "1"}, "scopes": ["NotBestEffort"]},
        selecting("pods", scopeName="PriorityClass", operator="In", values=["high"]),
        selecting("cpu", scopeName="PriorityClass", operator="Exists"),
    ],
)
def test_quotas_that_are_fine(spec: dict[str, Any]) -> None:
    assert of_quota(spec) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"hard": {"gpus": "1"}},
            [
                'spec.hard[gpus]: Invalid value: "gpus": must be a standard resource type or fully qualified',
                'spec.hard[gpus]: Invalid value: "gpus": must be a standard resource for quota',
            ],
        ),
        ({"hard": {"storage": "1"}}, ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota']),
        ({"hard": {"pods": "-1"}}, ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"hard": {"pods": "1500m"}}, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
        (
            {"hard": {"count/jobs.batch": "1500m"}},
            ['spec.hard[count/jobs.batch]: Invalid value: "1500m": must be an integer'],
        ),
        ({"scopes": ["Best"]}, ['spec.scopes: Invalid value: ["Best"]: unsupported scope']),
        (
            {"hard": {"requests.cpu": "1"}, "scopes": ["BestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (
            {"hard": {"configmaps": "1"}, "scopes": ["Terminating"]},
            ['spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource'],
        ),
        (
            {"scopes": ["BestEffort", "NotBestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
        ),
        (
            selecting("pods", scopeName="PriorityClass", operator="In"),
            [
                (f"{SELECTOR}.values: Required value: "
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
            ],
        ),
        (
            selecting("pods", scopeName="PriorityClass", operator="Exists", values=["a"]),
            [
                (f'{SELECTOR}.values: Invalid value: ["a"]: '
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
            ],
        ),
        (
            selecting("pods", scopeName="PriorityClass", operator="Is"),
            [f'{SELECTOR}.operator: Invalid value: "Is": not a valid selector operator'],
        ),
        (
            selecting("pods", scopeName="BestEffort", operator="DoesNotExist"),
            [
                (f'{SELECTOR}.operator: Invalid value: "DoesNotExist": must be \'Exists\' when scope is any of '
                "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
            ],
        ),
    ],
)  # fmt: skip
def test_quotas_that_are_refused(spec: dict[str, Any], expected: list[str]) -> None:
    assert of_quota(spec) == expected


def test_the_scopes_of_a_quota_never_change() -> None:
    assert of_quota({"scopes": ["Terminating"]}, {}) == ['spec.scopes: Invalid value: ["Terminating"]: field is immutable']
    assert of_quota({"hard": {"pods": "2"}, "scopes": ["Terminating"]}, {"scopes": ["Terminating"]}) == []


def container(**said: Any) -> dict[str, Any]:
    return {"type": "Container", **said}


HERE = "spec.limits[0]"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (container(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "2"}), []),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, []),
        ({"type": "acme.com/Thing", "max": {"storage": "1Gi"}}, []),
        ({"type": "Container", "max": {"nvidia.com/gpu": "2"}}, []),
        (
            container(min={"cpu": "2"}, max={"cpu": "1000m"}),
            [f'{HERE}.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            container(defaultRequest={"cpu": "3"}, default={"cpu": "2"}),
            [f'{HERE}.defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than default limit value 2'],
        ),
        (
            container(default={"cpu": "3"}, max={"cpu": "2"}),
            [f'{HERE}.default[cpu]: Invalid value: "2": default value 3 is greater than max value 2'],
        ),
        (
            container(default={"cpu": "1"}, min={"cpu": "2"}),
            [f'{HERE}.default[cpu]: Invalid value: "2": min value 2 is greater than default value 1'],
        ),
        (
            container(defaultRequest={"cpu": "1"}, min={"cpu": "2"}),
            [f'{HERE}.defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1'],
        ),
        (
            container(maxLimitRequestRatio={"cpu": "900m"}),
            [f'{HERE}.maxLimitRequestRatio[cpu]: Invalid value: "900m": ratio 900m is less than 1'],
        ),
        (
            container(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}),
            [f'{HERE}.maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000'],
        ),
        (
            container(default={"nvidia.com/gpu": "2"}, defaultRequest={"nvidia.com/gpu": "1"}),
            [
                (f'{HERE}.defaultRequest[nvidia.com/gpu]: Invalid value: "1": '
                "default value 2 must equal to defaultRequest value 1 in nvidia.com/gpu")
            ],
        ),
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            [f"{HERE}.default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            [f"{HERE}.limits: Required value: either minimum or maximum storage value is required, but neither was provided"],
        ),
        ({"type": "Job"}, [f'{HERE}.type: Invalid value: "Job": must be a standard limit type or fully qualified']),
        (
            container(max={"storage": "1"}),
            [f'{HERE}.max[storage]: Invalid value: "storage": must be a standard resource for containers'],
        ),
    ],
)  # fmt: skip
def test_limits(limit: dict[str, Any], expected: list[str]) -> None:
    assert of_limits(limit) == expected


def test_a_minimum_of_zero_leaves_any_ratio() -> None:
    assert of_limits(container(min={"cpu": "0"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "9"})) == []


def test_a_type_stands_only_once() -> None:
    assert of_limits(container(), container()) == ['spec.limits[1].type: Duplicate value: "Container"']

"""What admission refuses in every job kind of kubeflow.org/v1 but MPIJob, in Training Operator v1.9's words."""

from __future__ import annotations

import pytest

from api.training.kind_rules import JX, PD, XGB, Rules, each_kind
from shunter.api.meta import Json


@each_kind
def test_a_good_job_is_accepted(rules: Rules) -> None:
    assert rules.refused(rules.job(rules.good())) == ""


@each_kind
def test_names_are_dns_labels(rules: Rules) -> None:
    assert rules.refused(rules.job(rules.good(), name="1st.job")) == (
        'metadata.name: Invalid value: "1st.job": should match: a DNS-1035 label must consist of lower case alphanumeric '
        "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
    )
    assert rules.refused(rules.job(rules.good(), name="n" * 64)).endswith("should match: must be no more than 63 characters")


@each_kind
@pytest.mark.parametrize("specs", [None, {}], ids=["absent", "empty"])
def test_a_job_without_roles_is_refused(rules: Rules, specs: Json | None) -> None:
    """An XGBoostJob misses its Master."""
    missing = f"{rules.field}[Master]: Required value: must be present"
    wanted = missing if rules is XGB else f"{rules.field}: Required value: must be required"
    assert rules.refused(rules.job(specs)) == wanted


@each_kind
def test_every_container_has_an_image_and_one_trains(rules: Rules) -> None:
    (role,) = rules.good()
    at = f"{rules.field}[{role}].template.spec.containers"
    name = f'"{rules.kind.container}"' if rules is PD else rules.kind.container
    lacks_one = f"{at}: Required value: must have at least one container with name {name}"
    assert rules.refused(rules.job({role: rules.replica(image="")})) == f"{at}[0].image: Required value: must be required"
    assert rules.refused(rules.job({role: rules.replica(container="main")})) == lacks_one
    none = {"replicas": 1, "template": {"spec": {"containers": []}}}
    assert rules.refused(rules.job({role: none})) == f"[{at}: Required value: must be specified, {lacks_one}]"


@pytest.mark.parametrize(
    ("rules", "roles"),
    [(XGB, '"Master", "Worker"'), (JX, '"Worker"'), (PD, '"Master", "Worker"')],
    ids=["XGBoost", "JAX", "Paddle"],
)
def test_roles_are_the_kinds_own_and_spelled_so(rules: Rules, roles: str) -> None:
    for role in ("PS", "worker"):
        refused = rules.refused(rules.job({**rules.good(), role: rules.replica()}))
        assert refused == f'{rules.field}[{role}]: Unsupported value: "{role}": supported values: {roles}'


@each_kind
@pytest.mark.parametrize("manager", ["", "me"], ids=["empty", "another"])
def test_managers_are_this_operator_or_kueue(rules: Rules, manager: str) -> None:
    """Of JAXJobs as well."""
    refused = rules.refused(rules.job(rules.good(), runPolicy={"managedBy": manager}))
    supported = '"kueue.x-k8s.io/multikueue", "kubeflow.org/training-operator"'
    assert refused == f'spec.runPolicy.managedBy: Unsupported value: "{manager}": supported values: {supported}'


@each_kind
def test_managers_never_change(rules: Rules) -> None:
    old = rules.job(rules.good(), runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert rules.refused(old, old) == ""
    assert rules.refused(rules.job(rules.good()), old) == "spec.runPolicy.managedBy: Invalid value: null: field is immutable"
    new = rules.job(rules.good(), runPolicy={"managedBy": "kubeflow.org/training-operator"})
    assert rules.refused(new, rules.job(rules.good())) == (
        'spec.runPolicy.managedBy: Invalid value: "kubeflow.org/training-operator": field is immutable'
    )


@each_kind
def test_a_manager_that_came_past_admission_and_is_none_may_be_corrected(rules: Rules) -> None:
    """Nobody would ever run the job."""
    stored = rules.job(rules.good(), runPolicy={"managedBy": "nobody"})
    assert rules.refused(rules.job(rules.good()), stored) == ""

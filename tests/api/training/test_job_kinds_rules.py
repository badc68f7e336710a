"""Admission of TFJob, XGBoostJob, JAXJob and PaddleJob, in Training Operator v1.9's words, and their defaults."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

from shunter.api.field_errors import aggregate
from shunter.api.meta import Json
from shunter.api.training import jax_rules, paddle_rules, tensorflow_rules, xgboost_rules
from shunter.api.training.jax import KIND as JAX
from shunter.api.training.job_kind import JobKind
from shunter.api.training.paddle import KIND as PADDLE
from shunter.api.training.tensorflow import KIND as TENSORFLOW
from shunter.api.training.xgboost import KIND as XGBOOST


class Rules(NamedTuple):
    kind: JobKind
    module: ModuleType

    @property
    def field(self) -> str:
        return f"spec.{self.kind.replica_specs}"

    def job(self, specs: Json | None, name: str = "job", **spec: Any) -> Any:
        replicas = {} if specs is None else {self.kind.replica_specs: specs}
        return msgspec.convert({"metadata": {"name": name}, "spec": {**replicas, **spec}}, self.kind.view)

    def replica(self, replicas: int | None = 1, container: str = "", image: str = "img:1") -> Json:
        containers = [{"name": container or self.kind.container, "image": image}]
        return {"template": {"spec": {"containers": containers}}} | ({} if replicas is None else {"replicas": replicas})

    def good(self) -> Json:
        return {"Master" if self.kind is XGBOOST else "Worker": self.replica()}

    def refused(self, job: Any, old: Any = None) -> str:
        errors = self.module.errors(job, old)
        return aggregate(errors) if errors else ""


ALL = [Rules(TENSORFLOW, tensorflow_rules), Rules(XGBOOST, xgboost_rules), Rules(JAX, jax_rules), Rules(PADDLE, paddle_rules)]
TF, XGB, JX, PD = ALL
each_kind = pytest.mark.parametrize("rules", ALL, ids=[rules.kind.resource.kind for rules in ALL])


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


def test_a_tfjob_may_have_other_roles_and_is_warned_of_them() -> None:
    job = TF.job({"Worker": TF.replica(), "worker": TF.replica(), "PS2": TF.replica()})
    assert TF.refused(job) == ""
    (warning,) = tensorflow_rules.warnings(job)
    assert warning.startswith("spec.tfReplicaSpecs[PS2]: no role of TensorFlow (Chief, Master, Worker, PS, Evaluator)")


@pytest.mark.parametrize("replicas", [None, 0, 2], ids=["not said", "none", "two"])
def test_an_xgboostjob_has_one_master_and_says_so(replicas: int | None) -> None:
    job = XGB.job({"Master": XGB.replica(replicas)})
    assert XGB.refused(job) == "spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"


def test_an_xgboostjob_has_a_master() -> None:
    job = XGB.job({"Worker": XGB.replica(0)})
    assert XGB.refused(job) == "spec.xgbReplicaSpecs[Master]: Required value: must be present"


def test_an_xgboostjob_without_a_spec_lacks_roles_first() -> None:
    job = msgspec.convert({"metadata": {"name": "job"}}, XGBOOST.view)
    missing = [
        "spec.xgbReplicaSpecs: Required value: must be required",
        "spec.xgbReplicaSpecs[Master]: Required value: must be present",
    ]
    assert XGB.refused(job) == f"[{', '.join(missing)}]"


def test_a_tfjob_has_a_chief_or_a_master() -> None:
    """Roles are counted as they are spelled, not their pods."""
    both = TF.job({"Chief": TF.replica(), "Master": TF.replica()})
    assert TF.refused(both) == "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"
    assert TF.refused(TF.job({"Chief": TF.replica(2)})) == ""
    assert TF.refused(TF.job({"chief": TF.replica(), "Master": TF.replica()})) == ""


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


@each_kind
def test_a_manager_that_came_past_admission_and_is_none_may_be_corrected(rules: Rules) -> None:
    """Nobody would ever run the job."""
    stored = rules.job(rules.good(), runPolicy={"managedBy": "nobody"})
    assert rules.refused(rules.job(rules.good()), stored) == ""


@pytest.mark.parametrize(
    ("rules", "policy"), [(TF, "Never"), (XGB, "Never"), (JX, "Never"), (PD, "OnFailure")], ids=["TF", "XGBoost", "JAX", "Paddle"]
)
def test_defaults_fill_in_what_upstreams_do(rules: Rules, policy: str) -> None:
    specs = {role.lower(): rules.replica(None) for role in rules.kind.roles}
    job = rules.job(specs)
    spec = rules.module.with_defaults(job.spec)
    defaulted: dict[str, Any] = next(getattr(spec, field) for field in spec.__struct_fields__ if field.endswith("replica_specs"))
    assert list(defaulted) == list(rules.kind.roles)
    assert {(replica.replicas, replica.restart_policy) for replica in defaulted.values()} == {(1, policy)}
    port = rules.kind.port
    assert port is not None
    (container,) = defaulted["Worker"].template["spec"]["containers"]
    assert container["ports"] == [{"name": port.name, "containerPort": port.number}]
    assert spec.run_policy.clean_pod_policy == "None"


def test_an_elastic_paddlejob_without_workers_is_read() -> None:
    """Upstream panics."""
    job = PD.job({"Master": PD.replica()}, elasticPolicy={})
    assert paddle_rules.with_defaults(job.spec).elastic_policy == job.spec.elastic_policy

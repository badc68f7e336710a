"""The configuration file: strict, and each fault named by its place."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import pytest

from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.operator.config import feature_gates, read, seconds
from shunter.operator.process import OperatorOptions, configured, leader_options, status_server_url, webhook_configurations

HEAD = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + text)
    return path


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD.replace("kind: Configuration", "kind: Other"))
    with pytest.raises(InputError, match="it is a Other"):
        read(path)


def test_what_the_file_says_goes_before_the_flags(tmp_path: Path) -> None:
    text = (
        "webhook: {port: 1234}\nmetrics: {bindAddress: ':9'}\nleaderElection: {leaderElect: false}\ngangSchedulerName: volcano\n"
    )
    file = read(written(tmp_path, text))
    options = configured(OperatorOptions(webhook_host="h", webhook_port=1), file)
    assert (options.webhook_host, options.webhook_port, options.metrics_bind_address) == ("h", 1234, ":9")
    assert options.gang_scheduler_name == "volcano"
    assert leader_options(options, file, "default") is None


def test_election_and_concurrency_are_read(tmp_path: Path) -> None:
    text = (
        "leaderElection: {resourceName: mine, leaseDuration: 1m30s, renewDeadline: 20s}\n"
        "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 7}}\n"
    )
    file = read(written(tmp_path, text))
    leader = leader_options(OperatorOptions(), file, "kube-system")
    assert leader is not None
    assert (leader.name, leader.namespace, leader.lease_duration, leader.retry_period) == ("mine", "kube-system", 90, 2)
    assert (file.workers(TRAIN_JOBS), file.workers(PYTORCH_JOBS)) == (7, None)


def test_rates_and_certificates_are_read(tmp_path: Path) -> None:
    flags = OperatorOptions(webhook_secret="flag")
    text = "clientConnection: {qps: 50, burst: 100}\ncertManagement: {webhookServiceName: w, webhookSecretName: s}\n"
    options = configured(flags, read(written(tmp_path, text)))
    assert (options.kube_api_qps, options.kube_api_burst) == (50, 100)
    assert (options.webhook_service, options.webhook_secret) == ("w", "s")
    assert configured(flags, read(written(tmp_path, "certManagement: {enable: false}\n"))).webhook_secret == ""
    assert configured(flags, read(written(tmp_path, ""))).webhook_secret == "flag"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("webhook: {prot: 1}\n", "unknown field `prot` - at `webhook`. Did you mean port?"),
        ("nonsense: 1\n", "unknown field `nonsense`. There are apiVersion, kind, webhook, leaderElection, metrics, health,"),
        ("metrics: {auth: {enable: true}}\n", "unknown field `enable` - at `metrics.auth`. Did you mean enabled?"),
        ("metrics: {secureServing: yes please}\n", "Expected `bool | null`, got `str` - at `metrics.secureServing`"),
        ("statusServer: {port: 0}\n", "statusServer.port is 0: must be between 1 and 65535"),
        ("statusServer: {burst: -1}\n", "statusServer.burst is -1: must be greater than or equal to 0"),
        ("leaderElection: {resourceLock: configmaps}\n", 'leaderElection.resourceLock is "configmaps": only leases are served'),
        ("leaderElection: {retryPeriod: soon}\n", "leaderElection.retryPeriod: 'soon' is not a duration"),
        ("webhook: {port: 70000}\n", "webhook.port is 70000: must be between 1 and 65535"),
        ("webhook: {port: high}\n", "Expected `int | null`, got `str` - at `webhook.port`"),
        ("controller: {groupKindConcurrency: {a: 0}}\n", "groupKindConcurrency[a] is 0: must be greater than 0"),
        ("clientConnection: {qps: -1}\n", "clientConnection.qps is -1: must be greater than or equal to 0"),
        ("featureGates: {Nope: true}\n", "featureGates.Nope does not exist"),
        ("kind: Configuration\n", "key 'kind' is duplicated in one object"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, text))
    assert message in str(caught.value)


UPSTREAM = """
webhook: {port: 9443, host: ""}
leaderElection:
  leaderElect: true
  resourceName: trainer.kubeflow.org
  resourceNamespace: ""
  leaseDuration: 15s
  renewDeadline: 10s
  retryPeriod: 2s
metrics: {bindAddress: ":8443", secureServing: true, auth: {enabled: false}}
health: {healthProbeBindAddress: ":8081", readinessEndpointName: readyz, livenessEndpointName: healthz}
controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 5}}
certManagement:
  enable: true
  webhookServiceName: kubeflow-trainer-controller-manager
  webhookSecretName: kubeflow-trainer-webhook-cert
clientConnection: {qps: 50, burst: 100}
statusServer: {port: 10443, qps: 5, burst: 10}
featureGates: {TrainJobStatus: true}
tls: {minVersion: VersionTLS13, cipherSuites: [TLS_AES_128_GCM_SHA256], nextProtos: [http/1.1]}
"""
"""Every field, with the values that upstream's manifests and documentation have."""


def test_a_file_of_upstream_takes_effect_in_every_field(tmp_path: Path) -> None:
    file = read(written(tmp_path, UPSTREAM))
    assert file.remarks([TRAIN_JOBS]) == []
    options = configured(OperatorOptions(), file)
    assert options.webhook_service == "kubeflow-trainer-controller-manager"
    assert options.status_server_port == 10443
    assert (
        status_server_url(options, "kubeflow-system") == "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443"
    )
    assert file.tls.policy.version is ssl.TLSVersion.TLSv1_3


def test_null_is_the_same_as_absent(tmp_path: Path) -> None:
    assert read(written(tmp_path, "webhook:\nmetrics: {bindAddress: null}\ncontroller: {groupKindConcurrency: }\n")) == read(
        written(tmp_path, "")
    )


@pytest.mark.parametrize("name", ["TrainJob.trainer.kubeflow.org", "trainJob", "trainjob"])
def test_concurrency_is_read_as_upstreams_base_and_as_its_chart_write_it(tmp_path: Path, name: str) -> None:
    file = read(written(tmp_path, f"controller: {{groupKindConcurrency: {{{name}: 3}}}}\n"))
    assert file.workers(TRAIN_JOBS) == 3


def test_settings_without_effect_are_named_with_the_reason(tmp_path: Path) -> None:
    text = (
        "controller: {groupKindConcurrency: {Pod: 3, PyTorchJob.kubeflow.org: 2}}\n"
        "tls: {minVersion: VersionTLS10, cipherSuites: [TLS_RSA_WITH_RC4_128_SHA], nextProtos: [h2, http/1.1]}\n"
    )
    assert read(written(tmp_path, text)).remarks([TRAIN_JOBS, PYTORCH_JOBS]) == [
        "controller.groupKindConcurrency[Pod]: there is no such controller; write Kind.group",
        "tls.nextProtos: h2 is not served, only http/1.1",
        "tls.minVersion: VersionTLS10 is too old, VersionTLS12 is the least",
        "tls.cipherSuites: TLS_RSA_WITH_RC4_128_SHA is not known, or not safe",
    ]


def test_feature_gates_are_read() -> None:
    assert feature_gates("TrainJobStatus=true") == {"TrainJobStatus": True}
    assert feature_gates(" TrainJobStatus=False, ") == {"TrainJobStatus": False}


@pytest.mark.parametrize(
    ("text", "message"),
    [("Nope=true", "unknown gate Nope. Available: TrainJobStatus."), ("TrainJobStatus", "Write TrainJobStatus=true")],
)
def test_wrong_feature_gates_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        feature_gates(text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "wanted"), [("15s", 15), ("1h", 3600), ("1m0.5s", 60.5), ("500ms", 0.5), ("1.5h", 5400), (None, 4)]
)
def test_durations(text: str | None, wanted: float) -> None:
    assert seconds(text, 4) == wanted


def test_a_wrong_duration_is_refused() -> None:
    with pytest.raises(InputError, match="'soon' is not a duration"):
        seconds("soon", 1)


def test_webhooks_have_upstreams_names_and_paths() -> None:
    """v1 W0, v2 2.1; that of MPIJobs, which only warns, is ours."""
    found = {webhook.name: webhook.path for configuration in webhook_configurations() for webhook in configuration.webhooks}
    v1 = ("pytorchjob", "tfjob", "xgboostjob", "jaxjob", "paddlejob", "mpijob")
    assert found == {
        **{f"validator.{kind}.training-operator.kubeflow.org": f"/validate-kubeflow-org-v1-{kind}" for kind in v1},
        "defaulter.trainjob.trainer.kubeflow.org": "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
        "validator.clustertrainingruntime.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
        "validator.trainingruntime.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
        "validator.trainjob.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
    }

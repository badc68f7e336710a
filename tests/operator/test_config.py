"""The configuration file: strict, and each fault named by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.operator.config import read, seconds
from shunter.operator.process import OperatorOptions, configured, leader_options, webhook_configurations

HEAD = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + text)
    return path


def test_what_the_file_says_goes_before_the_flags(tmp_path: Path) -> None:
    text = "webhook: {port: 1234}\nmetrics: {bindAddress: ':9'}\nleaderElection: {leaderElect: false}\n"
    options = configured(OperatorOptions(webhook_host="h", webhook_port=1), read(written(tmp_path, text)))
    assert (options.webhook_host, options.webhook_port, options.metrics_bind_address) == ("h", 1234, ":9")
    assert leader_options(options, None, "default") is None


def test_election_and_concurrency_are_read(tmp_path: Path) -> None:
    text = (
        "leaderElection: {resourceName: mine, leaseDuration: 1m30s, renewDeadline: 20s}\n"
        "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 7}}\n"
    )
    file = read(written(tmp_path, text))
    leader = leader_options(OperatorOptions(), file, "kube-system")
    assert leader is not None
    assert (leader.name, leader.namespace, leader.lease_duration, leader.retry_period) == ("mine", "kube-system", 90, 2)
    assert file.train_job_workers == 7


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
        ("webhook: {prot: 1}\n", "unknown field `prot` - at `webhook`"),
        ("webhook: {port: 70000}\n", "webhook.port is 70000: must be between 1 and 65535"),
        ("webhook: {port: high}\n", "Expected `int | null`, got `str` - at `webhook.port`"),
        ("controller: {groupKindConcurrency: {a: 0}}\n", "groupKindConcurrency[a] is 0: must be greater than 0"),
        ("clientConnection: {qps: -1}\n", "clientConnection.qps is -1.0: must be greater than or equal to 0"),
        ("featureGates: {Nope: true}\n", "featureGates.Nope does not exist"),
        ("kind: Other\n", "it is a Other"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, text))
    assert message in str(caught.value)


def test_settings_without_effect_are_listed(tmp_path: Path) -> None:
    text = "metrics: {secureServing: true}\nfeatureGates: {TrainJobStatus: true}\nstatusServer: {port: 1}\n"
    assert read(written(tmp_path, text)).ignored == ["metrics.secureServing", "statusServer", "featureGates.TrainJobStatus"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.yaml")


@pytest.mark.parametrize(("text", "wanted"), [("15s", 15), ("1h", 3600), ("1m0.5s", 60.5), (None, 4)])
def test_durations(text: str | None, wanted: float) -> None:
    assert seconds(text, 4) == wanted


def test_a_wrong_duration_is_refused() -> None:
    with pytest.raises(InputError, match="'soon' is not a duration"):
        seconds("soon", 1)


def test_webhooks_have_upstreams_names_and_paths() -> None:
    """v1 W0, v2 2.1"""
    found = {webhook.name: webhook.path for configuration in webhook_configurations() for webhook in configuration.webhooks}
    assert found == {
        "validator.pytorchjob.training-operator.kubeflow.org": "/validate-kubeflow-org-v1-pytorchjob",
        "defaulter.trainjob.trainer.kubeflow.org": "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
        "validator.clustertrainingruntime.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
        "validator.trainingruntime.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
        "validator.trainjob.trainer.kubeflow.org": "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
    }

"""Upstream's operators in Go, as `conformance/build` makes them: how they are started, and the manifests of their releases.

Their limits on requests are lifted, and they get eight workers, unless said otherwise. Both webhook servers look for their
certificate in one directory, which `certificates` fills; so all operators on one machine share it.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from control_plane import free_ports
from shunter.api.meta import Json
from shunter.kube.tls.certificates import KeyPair, issue, new_authority

Program = Literal["training-operator", "trainer"]

HERE = Path(__file__).parent
CERTIFICATES = Path("/tmp/k8s-webhook-server/serving-certs")
"""Where upstream's webhook servers look for their certificate."""
WORKERS = 8
UNLIMITED = 100_000
_MODULES: dict[Program, tuple[str, str]] = {
    "training-operator": ("v1", "github.com/kubeflow/training-operator"),
    "trainer": ("v2", "github.com/kubeflow/trainer/v2"),
}


class Ports(NamedTuple):
    """Where an operator listens on 127.0.0.1."""

    metrics: int
    webhooks: int

    @classmethod
    def free(cls) -> Ports:
        """Two that nothing listens on."""
        return cls(*free_ports(2))


def built(program: Program) -> str:
    """The path of one of upstream's operators, built first if need be."""
    return subprocess.run([HERE / "build", program], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def training_operator(ports: Ports, extra: Sequence[str] = ()) -> list[str]:
    """The command of the Training Operator, which serves v1; without its kubeconfig. It wants what
    `needed_by_training_operator` lists."""
    flags = {
        "controller-threads": WORKERS,
        "kube-api-qps": UNLIMITED,
        "kube-api-burst": UNLIMITED,
        "metrics-bind-address": f"127.0.0.1:{ports.metrics}",
        "health-probe-bind-address": "0",
        "webhook-server-port": ports.webhooks,
        "zap-log-level": "error",
    }
    return [built("training-operator"), *(f"--{name}={value}" for name, value in flags.items()), *extra]


def needed_by_training_operator() -> list[Json]:
    """What must be there for it to start: the objects between which it passes its own certificate on."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubeflow"}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "training-operator-webhook-cert", "namespace": "kubeflow"},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
        },
    ]


def trainer(ports: Ports, directory: Path, *, as_released: bool = False) -> list[str]:
    """The command of the Trainer, which serves v2; without its kubeconfig. Its configuration is written into `directory`.

    `as_released`: with the limits on requests and the workers of its release's manifests, not without limits.
    """
    configuration = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": f"127.0.0.1:{ports.metrics}", "secureServing": False},
        "webhook": {"port": ports.webhooks},
        "leaderElection": {"leaderElect": False},
        "controller": {"groupKindConcurrency": {"TrainJob.trainer.kubeflow.org": WORKERS}},
        "certManagement": {"enable": False},
        "clientConnection": {"qps": UNLIMITED, "burst": UNLIMITED},
    }
    if as_released:
        manifest = _sources("trainer") / "manifests" / "base" / "manager" / "controller_manager_config.yaml"
        released = yaml.load(manifest.read_text(), yaml.CSafeLoader)
        configuration |= {key: released[key] for key in ("controller", "clientConnection")}
    file = directory / "trainer.yaml"
    file.write_text(json.dumps(configuration))
    return [built("trainer"), f"--config={file}", "--zap-log-level=error"]


def certificates() -> KeyPair:
    """Writes a new certificate for 127.0.0.1 where upstream's webhook servers look for theirs; returns its authority."""
    authority = new_authority("upstream")
    pair = issue(authority, "upstream", ["localhost", "127.0.0.1"])
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    (CERTIFICATES / "tls.crt").write_bytes(pair.certificate)
    (CERTIFICATES / "tls.key").write_bytes(pair.key)
    return authority


def crds(program: Program) -> Iterator[Json]:
    """The definitions of the release."""
    for file in sorted((_sources(program) / "manifests" / "base" / "crds").glob("*.yaml")):
        if "kustomization" not in file.name:
            yield from filter(None, yaml.load_all(file.read_text(), yaml.CSafeLoader))


def webhooks(program: Program, ports: Ports, authority: KeyPair) -> Iterator[Json]:
    """The registrations of the release's webhooks, at an operator that listens on this machine."""
    bundle = base64.b64encode(authority.certificate).decode()
    manifests = _sources(program) / "manifests" / "base" / "webhook" / "manifests.yaml"
    for configuration in yaml.load_all(manifests.read_text(), yaml.CSafeLoader):
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{ports.webhooks}{path}", "caBundle": bundle}
        # A name of its own: the Training Operator writes another authority into the registration that it knows by name.
        configuration["metadata"] = {"name": f"upstream-{configuration['metadata']['name']}"}
        yield configuration


def _sources(program: Program) -> Path:
    """The directory of the module that the operator is built from."""
    folder, module = _MODULES[program]
    command = ["go", "-C", str(HERE / "upstream" / folder), "list", "-m", "-f", "{{.Dir}}", module]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())

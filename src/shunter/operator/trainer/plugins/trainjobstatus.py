"""Progress: the training pods get the status server's address and a token that is valid only for it.

The server's authorities lie in a ConfigMap of the job's own, which follows them when they change. Initializers get nothing.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import Companion, Plugin
from shunter.operator.trainer.statusserver.place import audience
from shunter.operator.trainer.upserts import upsert_env, upsert_mounts, upsert_volumes

AUTHORITIES = Companion(CONFIG_MAPS, "-tls-config")
VOLUME = "kubeflow-trainer-token"
DIRECTORY = "/var/run/secrets/kubeflow/trainer"
CA_FILE, TOKEN_FILE = "ca.crt", "token"
TOKEN_SECONDS = 3600

REPORT_ENVIRONMENT = ("KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_CA_CERT", "KUBEFLOW_TRAINER_SERVER_TOKEN")
"""Variables with the address, authorities and token for progress reports."""


class TrainJobStatus(Plugin):
    """Acts in all jobs, whatever their runtime, while the status server is on (feature gate TrainJobStatus)."""

    companions = (AUTHORITIES,)

    def apply(self, model: Model) -> None:
        """Adds these variables and the mounted files to all containers of the training pods."""
        place, pods = model.status_server, model.trainer_set
        if place is None or pods is None:
            return
        metadata = model.job.metadata
        url, authority, token = REPORT_ENVIRONMENT
        upsert_volumes(pods.volumes, [_volume(model)])
        for container in pods.containers:
            upsert_env(
                container,
                [
                    {"name": url, "value": place.report_url(metadata.namespace, metadata.name)},
                    {"name": authority, "value": f"{DIRECTORY}/{CA_FILE}"},
                    {"name": token, "value": f"{DIRECTORY}/{TOKEN_FILE}"},
                ],
            )
            upsert_mounts(container, [{"name": VOLUME, "mountPath": DIRECTORY, "readOnly": True}])

    def objects(self, model: Model) -> list[Json]:
        """The ConfigMap with the server's authorities in PEM; none without a status server."""
        if model.status_server is None:
            return []
        return [AUTHORITIES.object(model.job, data={CA_FILE: model.status_server.authorities})]


def _volume(model: Model) -> Json:
    metadata = model.job.metadata
    token = {
        "audience": audience(metadata.namespace, metadata.name),
        "expirationSeconds": TOKEN_SECONDS,
        "path": TOKEN_FILE,
    }
    authorities = {"name": AUTHORITIES.name(model.job), "items": [{"key": CA_FILE, "path": CA_FILE}]}
    return {"name": VOLUME, "projected": {"sources": [{"serviceAccountToken": token}, {"configMap": authorities}]}}

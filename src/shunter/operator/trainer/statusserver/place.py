"""The URL and the token audience by which a job's pods reach the status server; shared by plugin and server."""

from __future__ import annotations

import re
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.trainer.trainjob import GROUP

_NAME = "[a-z0-9][-a-z0-9.]*"
_PATH = late_pattern(rf"/apis/{re.escape(GROUP)}/v1alpha1/namespaces/(?P<namespace>{_NAME})/trainjobs/(?P<name>{_NAME})/status")


class StatusServerPlace(NamedTuple):
    """The server's address, and the authorities (PEM) that signed its certificate."""

    url: str
    """`https://HOST:PORT`."""
    authorities: str

    def report_url(self, namespace: str, name: str) -> str:
        """`https://HOST:PORT/apis/trainer.kubeflow.org/v1alpha1/namespaces/NAMESPACE/trainjobs/NAME/status`."""
        return f"{self.url}/apis/{audience(namespace, name)}"


def audience(namespace: str, name: str) -> str:
    """The audience of the token of a job's pods: this server, for this job only."""
    return f"{GROUP}/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


def job_of(path: str) -> tuple[str, str] | None:
    """Namespace and name of the job that a path is about; None for any other path."""
    match = _PATH.fullmatch(path)
    return (match["namespace"], match["name"]) if match else None

"""Jobs of an input, and what a briefing says of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.documents import UNPARSABLE
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import NOT_TEXT
from shunter.migrate.findings import Finding, Place
from shunter.migrate.options import Options
from shunter.migrate.survey.briefing.facts import Facts, gathered

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXT = """\
# Trains every night.
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME, namespace: team-a}
spec:
  nprocPerNode: "1"
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      restartPolicy: POLICY
      template:
        spec:
          containers:
          - name: pytorch
            image: trainer:1   # pinned
            command: [torchrun, "<train>.py"]
            resources: {limits: {nvidia.com/gpu: 1}}
    Worker: *role
"""


def job(name: str, policy: str = "OnFailure", *, finished: bool = False) -> SourceObject:
    (source,) = text_file(TEXT.replace("NAME", name).replace("POLICY", policy), f"{name}.yaml").documents[0].objects
    if not finished:
        return source
    condition = {"type": "Succeeded", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    status = {"startTime": "2026-11-21T10:00:00Z", "conditions": [condition]}
    return SourceObject({**source.value, "status": status}, "cluster")


def facts(jobs: Sequence[SourceObject], **more: Any) -> Facts:
    return gathered(converted(jobs, Options()), {}, NOW, **more)


UNREAD = Finding(UNPARSABLE, "", Place("a<b>.yaml", 3, 1), (), "Not valid YAML: `<img onerror=x>`.")
ODD = Finding(NOT_TEXT, "", Place("notes.yaml", 1, 1), (), "Not UTF-8: byte 0xff in line 1.")

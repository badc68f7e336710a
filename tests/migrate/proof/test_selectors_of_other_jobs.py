"""Affinities to the pods of other jobs: the same by v1's label and by JobSet's, and by no other."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.proof.comparison import compared

JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
              - topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {training.kubeflow.org/job-name: other}}
          containers:
          - {name: pytorch, image: train:1, command: [torchrun, train.py]}
"""


def conversion(options: Options) -> Conversion:
    (outcome,) = batch.converted(Input((text_file(JOB, "x.yaml"),)).jobs, options).outcomes
    assert outcome.conversion is not None
    return outcome.conversion


@pytest.mark.parametrize("options", [Options(), Options(v1_labels=True)], ids=["JobSet's label", "v1's label, which is kept"])
def test_the_other_job_is_selected_as_before(options: Options) -> None:
    assert not [finding for finding in compared(conversion(options), options).findings if finding.is_blocking]


def test_a_result_that_selects_by_a_label_that_no_pod_has_is_refused() -> None:
    good = conversion(Options())
    text = msgspec.json.encode(good.runtime).decode()
    bad = text.replace('"jobset.sigs.k8s.io/jobset-name":"other"', '"training.kubeflow.org/job-name":"other"')
    assert bad != text
    found = compared(replace(good, runtime=msgspec.json.decode(bad)), Options()).findings
    assert "PROOF001" in {finding.topic.id for finding in found}

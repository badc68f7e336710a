"""What the owner of a job is given, to be put in the job's place."""

from __future__ import annotations

import yaml

from migrate.moving.moves import pytorch_job
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.plan import Item
from shunter.migrate.moving.source_patches import source_patch
from shunter.migrate.options import Options


def test_texts_that_kubectl_would_take_for_numbers_are_quoted() -> None:
    job = pytorch_job("bert", "team")
    for spec in job["spec"]["pytorchReplicaSpecs"].values():
        spec["template"]["spec"]["containers"][0]["args"] = ["--lr", "1e-3", "--seed", "0o17"]
    [outcome] = converted([SourceObject(job, "cluster")], Options()).outcomes
    assert outcome.conversion is not None
    item = Item(
        kind="PyTorchJob", namespace="team", name="bert", sha256="", state="Running", job_class="owned", action="source", why=""
    )
    text = source_patch(item, outcome.conversion).text
    assert "1e-3" in text
    assert all(f'"{word}"' in line for word in ("1e-3", "0o17") for line in text.splitlines() if word in line)
    train_job = next(document for document in yaml.safe_load_all(text) if document["kind"] == "TrainJob")
    assert train_job["metadata"]["name"] == outcome.conversion.train_job["metadata"]["name"]

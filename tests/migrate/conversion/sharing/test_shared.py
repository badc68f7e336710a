"""Runtimes that several jobs share: what is equal stands in them, what differs in TrainJobs, and the pods stay as they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from migrate.conversion.sharing.shared_jobs import require_proof, runtimes
from migrate.test_recorded_jobs import jobs as jobs_in
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.sharing import shared, shared_in
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.options import Options

TESTS = Path(__file__).parents[3]


@pytest.mark.slow
def test_all_recorded_jobs_together_get_the_pods_that_they_had() -> None:
    sources: list[SourceObject] = []
    for path in sorted((TESTS / "recordings" / "v1").glob("*.yaml")):
        for number, one in enumerate(jobs_in(yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["steps"])):
            name = f"{one['metadata'].get('name', 'x')[:30]}-{len(sources)}"
            sources.append(SourceObject({**one, "metadata": {"name": name}}, f"{path.stem}-{number}.yaml"))
    options = Options(elastic_nodes="replicas", accepted=("MPI001",))
    alone = batch.converted(sources, options)
    found = files.usable(shared(alone))
    assert len(runtimes(found)) < len(runtimes(files.usable(alone)))
    before = {id(one.source): one for one in files.usable(alone)}
    changed = [one for one in found if before[id(one.source)].train_job != one.train_job]
    assert len(changed) > 20
    require_proof(changed, options)


TWO_JOBS = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata:
  name: {name}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: jax
            image: x:1  # pinned
            args: [{name}]  # of its own
"""


def test_comments_stand_where_their_values_do() -> None:
    given = Input(tuple(text_file(TWO_JOBS.format(name=name), f"{name}.yaml") for name in "ab"))
    text = files.stream(given, shared_in(given, batch.converted(given.convertible, Options())))
    runtime, first, second = text.split("---\n")
    assert "image: x:1  # pinned" in runtime
    assert "args: [a]  # of its own" in first
    assert "args: [b]  # of its own" in second
    assert "image" not in first + second


def test_a_tree_of_kustomizations_shares_only_what_is_equal(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(TWO_JOBS.format(name=name))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml, b.yaml]\n")
    given = read([str(tmp_path)])
    found = files.usable(shared_in(given, batch.converted(given.convertible, Options())))
    assert [one.train_job["spec"]["trainer"]["image"] for one in found] == ["x:1", "x:1"]


def test_examples_twice_share_their_runtimes_and_keep_their_pods() -> None:
    options = Options(elastic_nodes="replicas", accepted=("MPI001",))
    found = provider_jobs(TESTS.parent / "examples" / "v1")
    twice = [
        replace(one, value={**one.value, "metadata": {**one.metadata, "name": f"{one.name}-{n}"}}) for one in found for n in "ab"
    ]
    shared_twice = files.usable(shared(batch.converted(twice, options)))
    assert len(shared_twice) == 2 * len(found)
    assert len(runtimes(shared_twice)) <= len(found)
    require_proof(shared_twice, options)


def provider_jobs(folder: Path) -> list[SourceObject]:
    return read([str(path) for path in sorted(folder.glob("*.yaml"))]).jobs

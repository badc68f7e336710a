"""Streams, files in place and trees of results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.api.yaml import Loader
from shunter.errors import InputError
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.options import Options

EXAMPLES = Path(__file__).parents[4] / "examples" / "v1"
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: NAME
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never   # of NAME
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [torchrun, --nproc_per_node=1, train.py]
"""
BLOCKED = JOB.replace("Never", "Always")
SERVICE = "apiVersion: v1\nkind:   Service\nmetadata: {name: a}\n"


def job(name: str) -> str:
    return JOB.replace("NAME", name)


def converted(given: Input) -> Batch:
    return batch.converted(given.convertible, Options(), [source.value for source in given.others])


def stream_of(text: str) -> str:
    given = Input((text_file(text, "x"),))
    return files.stream(given, converted(given))


def comparable(values: Iterable[Any]) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def kinds(text: str) -> list[str]:
    return [document["kind"] for document in yaml.safe_load_all(text) if document]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "a/one.yaml": job("one"),
        "a/two.yaml": f"{SERVICE}---\n{job('two')}",
        "b/three.yaml": job("three"),
        "c.yaml": SERVICE,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_runtime_stands_once_in_a_stream_before_the_first_job_that_needs_it() -> None:
    assert kinds(stream_of(f"{job('one')}---\n{SERVICE}---\n{job('two')}")) == [
        "TrainingRuntime",
        "TrainJob",
        "Service",
        "TrainJob",
    ]


def test_a_stream_has_the_files_that_were_named_and_of_a_directory_those_with_jobs(folder: Path) -> None:
    whole, named = read([str(folder)]), read([str(folder / "c.yaml"), str(folder / "b/three.yaml")])
    assert kinds(files.stream(whole, converted(whole))) == ["TrainingRuntime", "TrainJob", "Service", "TrainJob", "TrainJob"]
    assert kinds(files.stream(named, converted(named))) == ["Service", "TrainingRuntime", "TrainJob"]


def test_files_in_place_share_a_runtime_in_each_directory(folder: Path) -> None:
    given = read([str(folder)])
    texts = files.in_place(given, converted(given))
    assert {str(path.relative_to(folder)): kinds(text) for path, text in texts.items()} == {
        "a/one.yaml": ["TrainingRuntime", "TrainJob"],
        "a/two.yaml": ["Service", "TrainJob"],
        "b/three.yaml": ["TrainingRuntime", "TrainJob"],
    }
    assert texts[folder / "a/two.yaml"].startswith(f"{SERVICE}---\n")


def test_a_run_that_was_cut_short_is_finished_by_the_next_with_the_runtime_that_is_there(folder: Path) -> None:
    given = read([str(folder)])
    whole = files.in_place(given, converted(given))
    (folder / "a/one.yaml").write_text(whole[folder / "a/one.yaml"])
    given = read([str(folder)])
    assert files.in_place(given, converted(given)) == {path: text for path, text in whole.items() if path.name != "one.yaml"}


def test_a_tree_has_all_files_and_shared_runtimes_beside_them(folder: Path) -> None:
    given = read([str(folder)])
    texts = files.tree(given, converted(given))
    assert {str(path): kinds(text) for path, text in texts.items()} == {
        "c.yaml": ["Service"],
        "a/runtimes.yaml": ["TrainingRuntime"],
        "a/one.yaml": ["TrainJob"],
        "a/two.yaml": ["Service", "TrainJob"],
        "b/three.yaml": ["TrainingRuntime", "TrainJob"],
    }
    assert "# of one" in texts[Path("a/runtimes.yaml")]
    assert "# of two" in texts[Path("a/two.yaml")]


def test_a_tree_has_nothing_of_what_could_not_be_read(folder: Path) -> None:
    (folder / "a" / "image.yaml").write_bytes(b"\xff\xfe")
    (folder / "a" / "lost.yaml").symlink_to("nowhere")
    given = read([str(folder)])
    texts = files.tree(given, converted(given))
    assert sorted(str(path) for path in texts) == ["a/one.yaml", "a/runtimes.yaml", "a/two.yaml", "b/three.yaml", "c.yaml"]


@pytest.mark.parametrize("named", [("a", "b"), ("a/job.yaml", "b/job.yaml"), ("a/job.yaml", "b")], ids=" ".join)
def test_a_tree_in_which_two_files_would_be_one_is_refused(named: tuple[str, str], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.yaml").write_text(job(name))
    given = read([str(tmp_path / name) for name in named])
    with pytest.raises(InputError, match=r"a/job\.yaml and .*b/job\.yaml would both be written to job\.yaml"):
        files.tree(given, converted(given))


def test_shared_runtimes_take_the_place_of_no_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(job(name))
    for name in ("runtimes.yaml", "shared-runtimes.yaml"):
        (tmp_path / name).write_text(SERVICE)
    given = read([str(tmp_path)])
    texts = files.tree(given, converted(given))
    assert kinds(texts[Path("shared-shared-runtimes.yaml")]) == ["TrainingRuntime"]
    assert texts[Path("runtimes.yaml")] == texts[Path("shared-runtimes.yaml")] == SERVICE


def test_two_builds_are_two_files_of_a_tree() -> None:
    given = Input(tuple(text_file(job(name), f"kustomize build overlays/{name}") for name in ("one", "two")))
    texts = files.tree(given, converted(given))
    assert {str(path): kinds(text) for path, text in texts.items()} == {
        "runtimes.yaml": ["TrainingRuntime"],
        "kustomize-build-overlays-one.yaml": ["TrainJob"],
        "kustomize-build-overlays-two.yaml": ["TrainJob"],
    }


def test_shared_runtimes_stand_in_the_order_of_the_jobs_that_need_them(tmp_path: Path) -> None:
    text = "---\n".join(
        job(f"job-{number}")
        .replace("    Master:", f"    Master: # {number}")
        .replace("command: [", f"stdin: true\n            workingDir: /w{number}\n            command: [")
        for number in range(8)
    )
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text.replace("name: job-", "name: other-"))
    given = read([str(tmp_path)])
    texts = files.tree(given, converted(given))
    runtimes = [document["metadata"]["name"] for document in yaml.safe_load_all(texts[Path("runtimes.yaml")])]
    jobs = list(yaml.safe_load_all(texts[Path("a.yaml")]))
    assert len(runtimes) == 8
    assert runtimes == [document["spec"]["runtimeRef"]["name"] for document in jobs]


def test_a_blocked_job_stays_in_its_file_and_is_a_comment_in_a_stream(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{BLOCKED}---\n{SERVICE}")
    given = read([str(tmp_path)])
    results = converted(given)
    assert files.in_place(given, results) == {}
    text = files.stream(given, results)
    assert text.startswith("# PyTorchJob NAME (")
    assert "RESTART001" in text
    assert kinds(text) == ["Service"]


def test_json_stays_json_with_its_indentation() -> None:
    source = json.dumps(yaml.safe_load(job("one")), indent=4) + "\n"
    result = stream_of(source)
    value = json.loads(result)
    assert value["kind"] == "List"
    assert [item["kind"] for item in value["items"]] == ["TrainingRuntime", "TrainJob"]
    assert result == json.dumps(value, indent=4) + "\n"


def test_json_in_one_line_stays_in_one_line() -> None:
    assert "\n" not in stream_of(json.dumps(yaml.safe_load(job("one"))))


ITEM = "  kind: ConfigMap\n  metadata:\n    name: c   # kept as it is\n"
ALIASES = {
    "of a mapping in the job": ("    labels: *job\n", False),
    "of a scalar in the job": ("    namespace: *name\n", False),
    "merged from the job": ("    labels:\n      <<: *job\n      own: x\n", False),
    "of its own": ("    labels: &own {own: x}\n    annotations: *own\n", True),
    "none": ("", True),
}


@pytest.mark.parametrize(("fields", "is_kept"), ALIASES.values(), ids=ALIASES)
def test_an_item_of_a_list_is_whole_without_the_others(fields: str, is_kept: bool) -> None:
    anchored = job("one").replace("name: one", "name: &name one\n  labels: &job {team: x}")
    items = "".join(f"  {line}\n" for line in anchored.splitlines()).replace("  ", "- ", 1)
    source = f"apiVersion: v1\nkind: List\nitems:\n{items}- apiVersion: v1\n{ITEM}{fields}"
    text = stream_of(source)
    wanted = list(text_file(source, "x").documents[0].value["items"])[1]
    *_, found = yaml.load_all(text, Loader)
    assert found == wanted
    assert ("name: c   # kept as it is" in text) is is_kept


def test_a_job_that_stays_gets_the_kind_that_its_list_says_for_it(tmp_path: Path) -> None:
    items = [BLOCKED.replace("NAME", "stays"), job("one")]
    bare = ["".join(f"  {line}\n" for line in item.splitlines()[2:]).replace("  ", "- ", 1) for item in items]
    (tmp_path / "a.yaml").write_text(f"apiVersion: kubeflow.org/v1\nkind: PyTorchJobList\nitems:\n{''.join(bare)}")
    given = read([str(tmp_path)])
    (text,) = files.in_place(given, converted(given)).values()
    assert kinds(text) == ["PyTorchJob", "TrainingRuntime", "TrainJob"]


@pytest.mark.parametrize(
    "example",
    [path for path in sorted(EXAMPLES.glob("*.yaml")) if "kubeflow.org/v1" in path.read_text()],
    ids=lambda path: path.stem,
)
def test_what_is_written_of_an_example_reads_as_the_results_and_converts_to_itself(example: Path) -> None:
    given = read([str(example)])
    results = converted(given)
    text = files.stream(given, results)
    wanted = [*files.results(results), *(source.value for source in given.others)]
    assert comparable(filter(None, yaml.load_all(text, Loader))) == comparable(wanted)
    again = Input((text_file(text, "x"),))
    assert again.jobs == []
    assert files.stream(again, converted(again)) == text


def test_the_same_input_gives_the_same_text_twice() -> None:
    first, second = read([str(EXAMPLES)]), read([str(EXAMPLES)])
    assert files.stream(first, converted(first)) == files.stream(second, converted(second))


def test_runtimes_that_files_share_are_found_beside_one_of_them(tmp_path: Path) -> None:
    for name in ("bert", "gpt"):
        (tmp_path / f"{name}.yaml").write_text(JOB.replace("NAME", name))
    given = read([str(tmp_path)])
    results = tmp_path / "results"
    results.mkdir()
    for path, text in files.tree(given, batch.converted(given.convertible, Options())).items():
        (results / path.name).write_text(text)
    one = read([str(results / "bert.yaml")])
    assert [found.kind for found in one.objects] == ["TrainJob"]
    found, told = files.runtimes_beside([str(results / "bert.yaml"), "-"], one.objects)
    assert told == []
    assert [f"{runtime.kind} {runtime.name}" for runtime in found] == [
        f"TrainingRuntime {one.objects[0].value['spec']['runtimeRef']['name']}"
    ]
    assert files.runtimes_beside([str(results / "bert.yaml")], [*one.objects, *found]) == ([], [])
    assert files.runtimes_beside([str(results)], []) == ([], [])


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch-1, namespace: NAMESPACE}
"""


def test_a_runtime_beside_is_not_hidden_by_one_of_another_namespace(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(RUNTIME.replace("NAMESPACE", "red"))
    (tmp_path / "runtimes.yaml").write_text("---\n".join(RUNTIME.replace("NAMESPACE", name) for name in ("red", "blue")))
    paths = [str(tmp_path / "one.yaml")]
    found, _ = files.runtimes_beside(paths, read(paths).objects)
    assert [runtime.namespace for runtime in found] == ["blue"]


def test_what_cannot_be_read_of_runtimes_beside_is_told(tmp_path: Path) -> None:
    (tmp_path / "shared-runtimes.yaml").write_text(RUNTIME + "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: [\n")
    found, told = files.runtimes_beside([str(tmp_path / "one.yaml")], [])
    assert [runtime.name for runtime in found] == ["torch-1"]
    assert [(finding.topic.id, Path(finding.place.source).name) for finding in told] == [("INPUT011", "shared-runtimes.yaml")]

"""`shunter migrate convert`, as people call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: bert   # the name
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [torchrun, --nproc_per_node=1, train.py]
"""
BLOCKED = JOB.replace("OnFailure", "Always")
NEVER_IMPORTED = ("cryptography", "aiohttp", "uvloop", "kubernetes_validate", "cel_expr_python", "asyncio")


def convert(*arguments: str, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return migrate("convert", *arguments, given=given, folder=folder)


def test_manifests_go_to_standard_output_and_findings_to_standard_error() -> None:
    done = convert("-f", "-", given=BLOCKED + "---\n" + JOB.replace("name: bert", "name: other"))
    assert done.returncode == 3
    assert [document["kind"] for document in yaml.safe_load_all(done.stdout) if document] == ["TrainingRuntime", "TrainJob"]
    assert "standard input:9:" in done.stderr
    assert "blocking RESTART001" in done.stderr
    assert "1 of 2 jobs converted: 1 blocking" in done.stderr


def test_it_ends_with_what_is_shorter_and_with_the_lines_before_and_after() -> None:
    two = JOB + "---\n" + JOB.replace("name: bert", "name: other").replace("train.py", "other.py")
    done = convert("-f", "-", given=two)
    *_, shorter, lengths = done.stderr.splitlines()
    assert shorter.startswith(
        "Shorter for 2 of 2 jobs: --profile=idiomatic, on a shipped runtime. Trains the same if no pod fails"
    )
    texts = done.stdout.split("---\n")
    runtime, first, second = (sum(bool(line.strip()) for line in text.splitlines()) for text in texts)
    before = sum(bool(line.strip()) for line in two.splitlines()) - 1
    assert lengths.startswith(f"2 jobs of {before} lines: 2 TrainJobs of {first + second} and 1 runtime of {runtime} now, ")
    assert f", {(first + second + runtime) / before:.2f} with it." in lengths
    again = convert("-f", "-", "--profile", "idiomatic", given=two)
    assert "Shorter" not in again.stderr
    assert "runtimes" not in again.stderr.splitlines()[-1]


def test_what_is_accepted_is_converted() -> None:
    done = convert("-f", "-", "--accept", "RESTART001", given=BLOCKED)
    assert done.returncode == 0
    assert "kind: TrainJob" in done.stdout
    assert "1 suppressed" in done.stderr


def test_quiet_says_it_by_the_exit_code() -> None:
    done = convert("-q", "-f", "-", given=BLOCKED)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no input was named"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: no such file or directory"),
        (("-f", "-", "--in-place"), "--in-place changes files only"),
        (("-f", "-", "-o", "dir"), "no directory was named"),
        (("-f", "-", "--gang", "slurm"), "--gang slurm"),
        (("-f", "-", "--elastic-nodes", "many"), "--elastic-nodes many"),
        (("-f", "-", "--accept", "NOPE999"), "--accept NOPE999"),
        (("-f", "-", "--report", "pdf=x"), "--report pdf=x"),
        (("-f", "-", "--cluster"), "--cluster cannot be combined with another input"),
        (("-f", "-", "-n", "team"), "-n selects jobs of a cluster"),
        (("-f", "-", "-l", "a=b"), "-l selects jobs of a cluster"),
        (("-f", "-", "--strict", "--torch-launch", "mpirun"), "--torch-launch"),
        (("-f", "nowhere.yaml", "--strict"), "nowhere.yaml: no such file"),
        (("--cluster", "--kubeconfig", "nowhere"), "The kubeconfig nowhere cannot be read"),
    ],
)
def test_a_wrong_call_is_said_in_one_message(arguments: tuple[str, ...], message: str) -> None:
    done = convert(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_json_is_one_list_of_results() -> None:
    value = json.loads(convert("-f", "-", "-o", "json", given=JOB).stdout)
    assert [item["kind"] for item in value["items"]] == ["TrainingRuntime", "TrainJob"]


def test_files_change_in_place_only_when_git_can_bring_them_back(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    refused = convert("-f", ".", "--in-place", folder=tmp_path)
    assert refused.returncode == 1
    assert "in no git working tree" in refused.stderr
    assert (tmp_path / "job.yaml").read_text() == JOB
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init"], ["add", "."], ["commit", "-m", "first"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True, capture_output=True)
    done = convert("-f", ".", "--in-place", folder=tmp_path)
    assert done.returncode == 0
    assert "1 of 1 job converted, 1 file written" in done.stderr
    text = (tmp_path / "job.yaml").read_text()
    assert "name: bert   # the name" in text
    again = convert("-f", ".", "--in-place", "--force", folder=tmp_path)
    assert "no job of kubeflow.org/v1 among 2 objects, 0 files written" in again.stderr
    assert (tmp_path / "job.yaml").read_text() == text


def test_a_link_out_of_the_repository_is_not_changed_in_place(tmp_path: Path) -> None:
    repository, elsewhere = tmp_path / "repository", tmp_path / "job.yaml"
    repository.mkdir()
    elsewhere.write_text(JOB)
    (repository / "job.yaml").symlink_to(elsewhere)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init"], ["add", "."], ["commit", "-m", "first"]):
        subprocess.run([*git, *arguments], cwd=repository, check=True, capture_output=True)
    refused = convert("-f", ".", "--in-place", folder=repository)
    assert refused.returncode == 1
    assert f"{elsewhere} is in no git working tree" in refused.stderr
    assert elsewhere.read_text() == JOB


def test_a_tree_is_written_elsewhere_and_nothing_there_is_overwritten(tmp_path: Path) -> None:
    source, target = tmp_path / "jobs", tmp_path / "out"
    (source / "team").mkdir(parents=True)
    (source / "team" / "job.yaml").write_text(JOB)
    assert convert("-f", str(source), "--output-dir", str(target)).returncode == 0
    assert convert("-f", str(source), "-o", "dir", "--output-dir", str(target)).returncode == 0
    (target / "team" / "job.yaml").write_text("mine\n")
    refused = convert("-f", str(source), "--output-dir", str(target))
    assert refused.returncode == 1
    assert "there already, and different" in refused.stderr
    assert (target / "team" / "job.yaml").read_text() == "mine\n"


def test_reports_and_migration_yaml_are_used(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(BLOCKED)
    (tmp_path / "migration.yaml").write_text("suppressions:\n- {id: RESTART001, name: bert, reason: it loops by itself}\n")
    done = convert("-f", "job.yaml", "--report", "json=report.json", "--report", "md=report.md", folder=tmp_path)
    assert done.returncode == 0
    assert "RESTART001" in json.dumps(json.loads((tmp_path / "report.json").read_text()))
    assert "it loops by itself" in (tmp_path / "report.md").read_text()


def test_nothing_heavy_is_imported_to_convert_a_file(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    program = f"""
import sys
sys.argv = ["shunter", "migrate", "convert", "-q", "-f", {str(tmp_path / "job.yaml")!r}]
from shunter.cli.main import main
try:
    main()
except SystemExit:
    pass
print([name for name in {NEVER_IMPORTED!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_templates_count_as_converted() -> None:
    done = convert("-f", "-", given=JOB.replace("name: bert", "name: {{ .Release.Name }}", 1))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("1 template converted")


def test_files_and_folders_are_named_as_the_guide_names_them(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "bert.yaml").write_text(JOB)
    named = convert("all/bert.yaml", folder=tmp_path)
    assert (named.returncode, named.stdout) == (0, convert("-f", "all/bert.yaml", folder=tmp_path).stdout)
    assert convert("--directory", "./all", folder=tmp_path).returncode == 0
    assert (tmp_path / "all-converted" / "bert.yaml").read_text() == named.stdout
    assert convert("--directory", "all", "--output-dir", "out", folder=tmp_path).returncode == 0
    assert (tmp_path / "out" / "bert.yaml").exists()
    proved = migrate("validate", "all/bert.yaml", folder=tmp_path)
    assert (proved.returncode, proved.stdout) == (0, migrate("validate", "-f", "all/bert.yaml", folder=tmp_path).stdout)
    assert migrate("validate", "bert", "-f", "all", folder=tmp_path).returncode == 0


def test_two_jobs_that_would_take_each_others_place_are_refused(tmp_path: Path) -> None:
    for name in ("a/one.yaml", "a/two.yaml", "b/elsewhere.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(JOB)
    done = convert("a", "b", "--output-dir", "out", folder=tmp_path)
    assert done.returncode == 3
    assert "a/one.yaml:4:3: blocking INPUT018 PyTorchJob bert is also in a/two.yaml:4:3." in done.stderr
    assert "b/elsewhere.yaml:4" not in done.stderr
    assert convert("a", "b", "--accept", "INPUT018", folder=tmp_path).returncode == 0
    in_namespaces = JOB.replace("name: bert", "name: bert\n  namespace: x") + "---\n" + JOB
    assert convert("-f", "-", given=in_namespaces).returncode == 0


def test_jobs_of_one_name_in_several_folders_are_refused_in_one_stream_only(tmp_path: Path) -> None:
    for folder in ("staging", "prod"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(JOB)
    done = convert("-f", ".", folder=tmp_path)
    assert done.returncode == 3
    assert "prod/job.yaml:4:3: blocking INPUT018 PyTorchJob bert is also in staging/job.yaml:4:3." in done.stderr
    assert convert("-f", ".", "--output-dir", "out", folder=tmp_path).returncode == 0
    assert convert("-f", "staging", "-f", "prod", "--in-place", "--force", folder=tmp_path).returncode == 0


def test_a_job_without_a_namespace_may_take_the_place_of_one_in_default() -> None:
    both = JOB + "---\n" + JOB.replace("name: bert", "name: bert\n  namespace: default")
    assert "blocking INPUT018 PyTorchJob bert is also in standard input:20:3." in convert("-f", "-", given=both).stderr


@pytest.mark.parametrize("namespace", ["", "\n  namespace: default"], ids=["none", "default"])
def test_jobs_of_two_kinds_and_one_name_never_become_one_train_job(tmp_path: Path, namespace: str) -> None:
    other = JOB.replace("PyTorchJob", "TFJob").replace("pytorchReplicaSpecs", "tfReplicaSpecs").replace("Master:", "Worker:")
    other = other.replace("name: pytorch", "name: tensorflow").replace("name: bert", f"name: bert{namespace}", 1)
    for name, text in (("a/job.yaml", JOB), ("b/job.yaml", other)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    done = convert("-f", ".", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    names = [value["metadata"]["name"] for value in yaml.safe_load_all(done.stdout) if value["kind"] == "TrainJob"]
    assert names == ["bert", "bert-tf"]
    assert "NAME003 A PyTorchJob is also called bert: this TFJob becomes bert-tf." in done.stderr


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: board}   # TensorBoard
spec:
  selector:
    training.kubeflow.org/job-name: bert
  ports: [{port: 6006}]
"""


def test_a_service_that_selects_a_job_in_another_file_is_named_with_its_new_selector(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "service.yaml").write_text(SERVICE)
    done = convert("-f", ".", "--output-dir", "out", folder=tmp_path)
    assert done.returncode == 0
    assert "service.yaml:5:3: warning SELECT001 Service board selects 1 pod of PyTorchJob bert" in done.stderr
    assert "Select jobset.sigs.k8s.io/jobset-name=bert; --update-selectors writes that." in done.stderr
    assert (tmp_path / "out" / "service.yaml").read_text() == SERVICE


@pytest.mark.parametrize("where", [["--output-dir", "out"], ["--in-place", "--force"]], ids=["output-dir", "in-place"])
def test_selectors_are_updated_where_files_are_written(tmp_path: Path, where: list[str]) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "service.yaml").write_text(SERVICE)
    assert convert("-f", ".", *where, "--update-selectors", folder=tmp_path).returncode == 0
    written = tmp_path / ("out" if "out" in where else ".") / "service.yaml"
    assert written.read_text() == SERVICE.replace("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name")


def test_a_stream_has_the_file_whose_selectors_are_updated(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "service.yaml").write_text(SERVICE)
    documents = [*yaml.safe_load_all(convert("-f", ".", "--update-selectors", folder=tmp_path).stdout)]
    assert {"jobset.sigs.k8s.io/jobset-name": "bert"} in [document["spec"].get("selector") for document in documents]


def test_what_roles_share_is_told_once_and_stands_in_reports_for_each(tmp_path: Path) -> None:
    both = JOB.replace("    Master:", "    Master: &role").replace("image:", "imagePullPolcy: Always\n            image:")
    (tmp_path / "job.yaml").write_text(both + "    Worker:\n      <<: *role\n")
    done = convert("job.yaml", "--report", "json=report.json", folder=tmp_path)
    assert done.returncode == 3
    assert done.stderr.count("FIELD003 spec.") == 1
    assert "Did you mean imagePullPolicy?" in done.stderr
    assert "Blocked: PyTorchJob bert (FIELD003).\n    To convert all the same, add --accept FIELD003.\n" in done.stderr
    assert (tmp_path / "report.json").read_text().count('"id": "FIELD003"') == 2


def test_jobs_take_the_runtimes_that_the_directory_has_already(tmp_path: Path) -> None:
    def of(name: str, image: str) -> str:
        return JOB.replace("name: bert   # the name", f"name: {name}").replace("train:1", image)

    first, later, out = tmp_path / "first", tmp_path / "later", tmp_path / "out"
    for path, name, image in ((first, "a", "one"), (first, "b", "two"), (later, "c", "three")):
        path.mkdir(exist_ok=True)
        (path / f"{name}.yaml").write_text(of(name, image))
    assert convert("-f", str(first), "--output-dir", str(out)).returncode == 0
    before = {path.name: path.read_text() for path in out.iterdir()}
    assert {*before} == {"a.yaml", "b.yaml", "runtimes.yaml"}
    assert convert("-f", str(first), "--output-dir", str(out)).returncode == 0
    assert convert("-f", str(later), "--output-dir", str(out)).returncode == 0
    assert {name: (out / name).read_text() for name in before} == before
    (late,) = [document for document in yaml.safe_load_all((out / "c.yaml").read_text()) if document]
    assert late["spec"]["runtimeRef"]["name"] in before["runtimes.yaml"]
    assert late["spec"]["trainer"]["image"] == "example.org/three"


def test_a_runtime_that_nobody_can_read_stands_in_nobodys_way(tmp_path: Path) -> None:
    odd = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata:\n  name: x\n"
    (tmp_path / "odd.yaml").write_text(odd + "  annotations: {migrate.shunter.dev/generator: x}\nspec: [1]\n")
    done = convert("-f", "-", "--output-dir", str(tmp_path), given=JOB)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)

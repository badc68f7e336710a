"""What Workers of PyTorchJobs do before they start, as a file says it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.operator.training import init_template
from shunter.operator.training.framework import Settings
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods

OURS = """
- name: wait
  image: {{.InitContainerImage}}
  command: [sh, -c, 'wait-for {{ .MasterAddr }} {{.MaxTries}}']
- name: other
  image: fixed:1
"""


def test_a_file_of_upstreams_form_is_filled_in_for_every_job(tmp_path: Path) -> None:
    file = tmp_path / "initContainer.yaml"
    file.write_text(OURS)
    containers = init_template.parsed(init_template.read(file), "alpine:3", 7)
    for master in ("bert-master-0", "gpt-master-0"):
        wait, other = init_template.filled(containers, master)
        assert wait == {"name": "wait", "image": "alpine:3", "command": ["sh", "-c", f"wait-for {master} 7"]}
        assert other == {"name": "other", "image": "fixed:1"}


def test_values_are_texts_and_numbers_as_kubectl_reads_them() -> None:
    template = "- {name: x, image: z, command: [sleep, 12:30], env: [{name: DAY, value: 2026-11-21}]}"
    (container,) = init_template.parsed(template, "alpine:3", 7)
    assert container["command"] == ["sleep", "12:30"]
    assert container["env"] == [{"name": "DAY", "value": "2026-11-21"}]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("name: x", "it holds a dict"),
        ("- image: x", "[0] has no name or no image"),
        ("- {name: x, image: z}\n- 7", "[1] has no name or no image"),
        ("- name: {{.Master}}", "{{.Master}} is not known. Known are InitContainerImage, MaxTries, MasterAddr"),
        ("- name: [", "it is no YAML"),
    ],
    ids=["no-list", "no-name", "no-container", "unknown-name", "no-yaml"],
)
def test_what_cannot_be_containers_is_refused_at_the_start(template: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        init_template.parsed(template, "alpine:3", 7)
    assert why in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml cannot be read"):
        init_template.read(tmp_path / "nowhere.yaml")


PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]


def test_the_waiting_container_has_no_more_rights_than_the_training_beside_it(make_job: MakeJob) -> None:
    """A namespace under Pod Security `restricted` refuses a pod for any one of its containers."""
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
    containers = [{"name": "sidecar", "image": "s"}, {"name": "pytorch", "image": "i", "securityContext": context}]
    _, worker = desired_pods(PYTORCH, make_job(role={"template": {"spec": {"containers": containers}}}))
    (waiting,) = worker["spec"]["initContainers"]
    assert waiting["securityContext"] == context
    _, worker = desired_pods(PYTORCH, make_job())
    assert "securityContext" not in worker["spec"]["initContainers"][0]


def test_workers_wait_for_the_masters_name(make_job: MakeJob) -> None:
    master, worker = desired_pods(PYTORCH, make_job())
    assert "initContainers" not in master["spec"]
    (init,) = worker["spec"]["initContainers"]
    assert (init["name"], init["image"]) == ("init-pytorch", "alpine:3.10")
    assert "nslookup bert-master-0" in init["command"][2]


def test_the_image_and_patience_of_waiting_workers_can_be_set(make_job: MakeJob) -> None:
    """A cluster without a way to the public registry has an image of its own."""
    settings = Settings(pytorch_init_container_image="mirror/alpine:3", pytorch_init_container_max_tries=7)
    _, worker = desired_pods(PYTORCH.with_settings(settings), make_job())
    (waits,) = worker["spec"]["initContainers"]
    assert waits["image"] == "mirror/alpine:3"
    assert "seq 7)" in waits["command"][2]

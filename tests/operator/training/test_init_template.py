"""What Workers of PyTorchJobs do before they start, as a file says it."""

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.operator.training import init_template

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


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("name: x", "it holds a dict"),
        ("- image: x", "[0] has no name or no image"),
        ("- {name: x, image: y}\n- 7", "[1] has no name or no image"),
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

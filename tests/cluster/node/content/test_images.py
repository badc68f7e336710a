"""What image names stand for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import shunter
from shunter.cluster.node.content.images import ImageError, Images, load_images
from shunter.errors import InputError


def test_any_image_is_the_environment_that_runs_us() -> None:
    image = Images().find("pytorch/pytorch:2.7")
    assert image.root == "/"
    assert image.environment["PATH"].split(":")[0] == os.path.dirname(sys.executable)
    assert {sys.prefix, sys.base_prefix, str(Path(shunter.__file__).parents[1])} == set(image.trees)


def test_with_strict_images_only_what_is_mapped_made_or_known_stands_for_something(tmp_path: Path) -> None:
    path = tmp_path / "images.yaml"
    path.write_text(f"- image: known:1\n  root: {tmp_path}\n")
    strict = load_images(path, strict=True)
    assert strict.find("known:1").root == str(tmp_path)
    assert strict.find("ghcr.io/acme/kubectl-delivery:1").entrypoint
    with pytest.raises(ImageError, match='image "nginx" has no environment on this machine'):
        strict.find("nginx")
    assert load_images(path).find("nginx").root == "/"


def test_the_first_matching_rule_wins(tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").touch()
    (tmp_path / "rootfs").mkdir()
    mapping = tmp_path / "images.yaml"
    mapping.write_text(f"- image: 'acme/*'\n  venv: {tmp_path}/venv\n- image: '*'\n  root: rootfs\n")
    images = load_images(mapping)
    assert images.find("acme/bert:1").environment["PATH"].startswith(f"{tmp_path}/venv/bin:")
    assert images.find("other").root == str(tmp_path / "rootfs")


@pytest.mark.parametrize(
    ("word", "provided"),
    [
        ("/usr/sbin/sshd", "/run/shunter/bin/sshd"),
        ("mkdir /tmp/x && exec /usr/sbin/sshd -De", "mkdir /tmp/x && exec /run/shunter/bin/sshd -De"),
        ("/srv/usr/sbin/sshd", "/srv/usr/sbin/sshd"),
        ("/usr/sbin/sshd-keygen", "/usr/sbin/sshd-keygen"),
    ],
)
def test_an_environment_is_given_an_sshd_and_an_image_with_a_root_has_its_own(tmp_path: Path, word: str, provided: str) -> None:
    image = Images().find("mpi:1")
    assert image.provided([word, "-De"]) == [provided, "-De"]
    assert image._replace(root=str(tmp_path)).provided([word, "-De"]) == [word, "-De"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "venv: /no/such",
            'image "x": {path} maps "*" to venv /no/such, which has no bin/python. Create it or change the mapping.',
        ),
        (
            "root: /no/such",
            'image "x": {path} maps "*" to root /no/such, which is not a directory. Create it or change the mapping.',
        ),
    ],
)
def test_a_missing_target_names_image_and_mapping(tmp_path: Path, rule: str, message: str) -> None:
    mapping = tmp_path / "images.yaml"
    mapping.write_text(f"- image: '*'\n  {rule}\n")
    with pytest.raises(ImageError) as raised:
        load_images(mapping).find("x")
    assert str(raised.value) == message.format(path=mapping)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("image: x", "holds dict, not a list", id="not-a-list"),
        pytest.param("- venv: /x", "[0]: has no image", id="no-image"),
        pytest.param("- image: x", "needs exactly one of venv and root", id="no-target"),
        pytest.param("- {image: x, venv: /a, root: /b}", "needs exactly one of venv and root", id="two-targets"),
        pytest.param("- {image: x, vnev: /a}", "unknown field 'vnev'", id="typo"),
        pytest.param("- {image: x, venv: /a, entrypoint: train.py}", "entrypoint is 'train.py', not a list", id="entrypoint"),
        pytest.param("- {image: [", "not YAML", id="broken"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    mapping = tmp_path / "images.yaml"
    mapping.write_text(content)
    with pytest.raises(InputError) as raised:
        load_images(mapping)
    assert message in str(raised.value)
    assert str(mapping) in str(raised.value)


@pytest.mark.parametrize(
    ("image", "program"),
    [
        ("ghcr.io/kubeflow/training-v1/kubectl-delivery:latest", ("/run/shunter/bin/kubectl-delivery",)),
        ("kubectl-delivery@sha256:0123", ("/run/shunter/bin/kubectl-delivery",)),
        ("registry.local:5000/acme/kubectl-delivery", ("/run/shunter/bin/kubectl-delivery",)),
        ("acme/kubectl-delivery-test:1", ()),
        ("pytorch/pytorch:2.7", ()),
    ],
)
def test_the_program_of_a_known_image_is_stood_in_for(image: str, program: tuple[str, ...]) -> None:
    assert Images().find(image).entrypoint == program


@pytest.mark.parametrize("role", ["dataset", "model"])
def test_upstreams_initializer_images_stand_for_our_program(role: str) -> None:
    entrypoint = load_images(None).find(f"ghcr.io/kubeflow/trainer/{role}-initializer:v2.3.0").entrypoint
    assert entrypoint == ("python", "-m", "shunter.initializers", role, f"/workspace/{role}")


def test_the_mapping_says_what_runs_where_a_container_has_no_command(tmp_path: Path) -> None:
    mapping = tmp_path / "images.yaml"
    mapping.write_text(
        "- {image: acme/*, root: ., entrypoint: [python, train.py]}\n"
        "- {image: mine/kubectl-delivery, root: ., entrypoint: [deliver]}\n"
        "- {image: team/*, entrypoint: [python, -m, team]}\n"
        "- {image: '*', root: .}\n"
    )
    images = load_images(mapping)
    assert images.find("acme/bert:1").entrypoint == ("python", "train.py")
    assert images.find("mine/kubectl-delivery").entrypoint == ("deliver",)
    assert images.find("other/kubectl-delivery").entrypoint == ("/run/shunter/bin/kubectl-delivery",)
    assert images.find("team/x") == Images().find("team/x")._replace(entrypoint=("python", "-m", "team"))
    assert images.find("other").entrypoint == ()

"""`shunter images`: environments are complete or not there, and stand for the images that were named."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from shunter.cluster import image_builds
from shunter.cluster.node.content.image_environments import ImageEnvironment, environment_for, place, recorded, venv
from shunter.cluster.node.content.images import ImageError, Images, load_images
from shunter.errors import EnvironmentProblem, InputError

IMAGE = "ghcr.io/acme/greeter:1"


def wheel(directory: Path, version: str = "1") -> Path:
    """A package that pip installs without asking anybody."""
    path = directory / f"greeter-{version}-py3-none-any.whl"
    info = f"greeter-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("greeter.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: greeter\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def greeting(root: Path, environment: ImageEnvironment) -> str:
    python = venv(root, environment) / "bin" / "python"
    return subprocess.check_output([python, "-c", "import greeter; print(greeter.version)"], text=True).strip()


@pytest.mark.integration
def test_one_is_added_rebuilt_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "images"
    wheel(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = image_builds.add(root, IMAGE, ["./greeter-1-py3-none-any.whl"])
    assert recorded(root) == [made]
    assert greeting(root, made) == "1"
    assert Images(made=root).find(IMAGE).environment["PATH"].startswith(f"{venv(root, made)}/bin:")
    assert image_builds.size(root, made) > 1_000_000
    with pytest.raises(InputError, match="already exists"):
        image_builds.add(root, IMAGE, ["other"])

    (tmp_path / "greeter-1-py3-none-any.whl").write_bytes(wheel(tmp_path, "1").read_bytes())
    monkeypatch.chdir("/")
    again = image_builds.rebuild(root, IMAGE)
    assert (again.build, again.requirements, again.python) == (2, made.requirements, made.python)
    assert greeting(root, again) == "1"
    assert greeting(root, made) == "1", "a container that still runs lost its files"

    image_builds.remove(root, IMAGE)
    assert recorded(root) == []
    assert [entry.name for entry in root.iterdir()] == ["lock"]
    assert Images(made=root).find(IMAGE) == Images().find(IMAGE)


@pytest.mark.integration
def test_what_pip_refuses_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pip does not install it \(exit code 1\); nothing has changed"):
        image_builds.add(tmp_path / "images", IMAGE, [str(tmp_path / "missing.whl")])
    assert [entry.name for entry in (tmp_path / "images").iterdir()] == ["lock"]


def record(root: Path, image: str, build: int = 1) -> ImageEnvironment:
    """An environment as far as its record goes."""
    made = ImageEnvironment(image=image, build=build, requirements=("x",), python="3.11.7")
    (venv(root, made) / "bin").mkdir(parents=True)
    os.symlink(sys.executable, venv(root, made) / "bin" / "python")
    (place(root, image) / "image.json").write_bytes(msgspec.json.encode(made))
    return made


def test_what_a_killed_build_left_is_removed_by_the_next_change(tmp_path: Path) -> None:
    kept, gone = record(tmp_path, "kept"), record(tmp_path, "gone")
    (tmp_path / "half-12345678" / "1").mkdir(parents=True)
    image_builds.remove(tmp_path, "gone")
    assert not (tmp_path / "half-12345678").exists()
    assert not venv(tmp_path, gone).exists()
    assert recorded(tmp_path) == [kept]


def test_two_do_not_change_at_once(tmp_path: Path) -> None:
    record(tmp_path, "a")
    with open(tmp_path / "lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EnvironmentProblem, match="at work"):
            image_builds.remove(tmp_path, "a")
    assert len(recorded(tmp_path)) == 1


WRONG = {
    "no package": ("a", [], "nothing to install"),
    "no name": ("", ["x"], "is no image name"),
    "two words": ("a b", ["x"], "is no image name"),
    "an option": ("--a", ["x"], "is no image name"),
}


@pytest.mark.parametrize(("image", "requirements", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused(tmp_path: Path, image: str, requirements: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        image_builds.add(tmp_path / "images", image, requirements)
    assert not (tmp_path / "images").exists()


@pytest.mark.integration
def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/no/python cannot create a virtual environment"):
        image_builds.add(tmp_path, IMAGE, ["x"], python="/no/python")


@pytest.mark.parametrize("change", [image_builds.rebuild, image_builds.remove])
def test_an_unknown_image_is_told_which_there_are(tmp_path: Path, change: object) -> None:
    assert callable(change)
    record(tmp_path, "acme/bert")
    with pytest.raises(InputError, match="image bert has no separate environment") as raised:
        change(tmp_path, "bert")
    assert raised.value.remedy == "There is acme/bert."


FOUND = {"acme/bert:1": "acme/bert:1", "acme/bert:2": "acme/bert:*", "acme/gpt:1": "acme/*", "other/gpt:1": None}


@pytest.mark.parametrize(("image", "pattern"), FOUND.items(), ids=FOUND)
def test_a_name_goes_before_a_pattern_and_the_longer_pattern_first(tmp_path: Path, image: str, pattern: str | None) -> None:
    for one in ("acme/*", "acme/bert:1", "acme/bert:*"):
        record(tmp_path, one)
    found = environment_for(tmp_path, image)
    assert (found.image if found else None) == pattern


def test_a_mapping_file_goes_first(tmp_path: Path) -> None:
    made = record(tmp_path / "images", "acme/bert")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    os.symlink(sys.executable, tmp_path / "venv" / "bin" / "python")
    (tmp_path / "map.yaml").write_text("- image: 'acme/*'\n  venv: venv\n")
    mapped = load_images(tmp_path / "map.yaml", tmp_path / "images").find("acme/bert")
    assert mapped.environment["PATH"].startswith(f"{tmp_path}/venv/bin:")
    (tmp_path / "map.yaml").write_text("[]\n")
    unmapped = load_images(tmp_path / "map.yaml", tmp_path / "images").find("acme/bert")
    assert unmapped.environment["PATH"].startswith(f"{venv(tmp_path / 'images', made)}/bin:")


def test_an_environment_that_is_broken_says_what_to_do(tmp_path: Path) -> None:
    made = record(tmp_path, "acme/bert")
    (venv(tmp_path, made) / "bin" / "python").unlink()
    with pytest.raises(ImageError, match=r"has no bin/python\. Run: shunter images rebuild acme/bert"):
        Images(made=tmp_path).find("acme/bert")

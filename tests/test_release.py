"""The version of a source by its tag, and what `make release` puts into dist/."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import source_version
from deploy_files import chart_version

ROOT = Path(__file__).parents[1]
VERSION = "0.1.0"
VENDOR = "src/shunter/page/assets/vendor"
"""Made by `make setup`; git does not know it."""
SOURCES = ("src", "scripts", "deploy", "requirements", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore")


@pytest.mark.parametrize(
    ("declared", "tagged", "commits", "version"),
    [
        pytest.param("1.2.3", "1.2.3", 0, "1.2.3", id="at the tag"),
        pytest.param("1.2.3", "1.2.3", 7, "1.2.4.dev7", id="after it the next patch is developed"),
        pytest.param("2.0.0", "1.2.3", 7, "2.0.0.dev7", id="or the release that the source names"),
        pytest.param("1.3.0rc1", "1.3.0rc1", 0, "1.3.0rc1", id="at a pre-release"),
        pytest.param("1.3.0rc1", "1.3.0rc1", 2, "1.3.0rc2.dev2", id="after a pre-release"),
    ],
)
def test_version_is_that_of_the_tag_or_one_on_the_way_to_the_next(declared: str, tagged: str, commits: int, version: str) -> None:
    assert source_version.version_at(declared, tagged, commits) == version


@pytest.mark.parametrize(
    ("version", "chart"),
    [("1.2.0", "1.2.0"), ("1.2.0rc1", "1.2.0-rc.1"), ("1.2.4.dev7", "1.2.4-dev.7"), ("1.2.0rc2.dev7", "1.2.0-rc.1.dev.7")],
)
def test_the_chart_has_the_version_as_helm_wants_it(version: str, chart: str) -> None:
    assert chart_version(version) == chart


def test_tag_that_disagrees_with_the_source_is_refused() -> None:
    with pytest.raises(source_version.VersionMismatchError, match=r"the tag is v1\.2\.3, but .* \"1\.2\.2\".*make generate"):
        source_version.version_at("1.2.2", "1.2.3", 0)


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def _source(folder: Path) -> Path:
    (folder / "src/shunter").mkdir(parents=True)
    shutil.copy(ROOT / "src/shunter/__init__.py", folder / "src/shunter")
    return folder


def _repository(folder: Path) -> Path:
    _git(_source(folder), "init", "-q")
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "first")
    return folder


@pytest.mark.integration
def test_source_without_a_tag_or_without_git_is_on_the_way_to_the_release_it_names(tmp_path: Path) -> None:
    assert source_version.version(_source(tmp_path / "archive")) == f"{VERSION}.dev0"
    assert source_version.version(_repository(tmp_path / "clone")) == f"{VERSION}.dev0"


@pytest.mark.integration
def test_tag_names_the_version_and_a_commit_after_it_the_next(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    _git(repository, "tag", "-am", "a release", f"v{VERSION}")
    _git(repository, "tag", "vision")
    assert source_version.version(repository) == VERSION
    _git(repository, "commit", "--allow-empty", "-qm", "second")
    assert source_version.version(repository) == "0.1.1.dev1"


@pytest.mark.integration
def test_tag_of_a_repository_that_only_surrounds_the_source_is_not_asked(tmp_path: Path) -> None:
    _git(_repository(tmp_path), "tag", "v9.9.9")
    assert source_version.version(_source(tmp_path / "vendored")) == f"{VERSION}.dev0"


def test_unpacked_source_distribution_keeps_the_version_it_was_built_with(tmp_path: Path) -> None:
    source = _source(tmp_path)
    (source / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: shunter\nVersion: 3.4.5\n\nText\nVersion: 9\n")
    assert source_version.version(source) == "3.4.5"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """dist/ of `make release` at a tag, from the working tree as it is; what it said is in `said`."""
    root = tmp_path_factory.mktemp("release")
    asked = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", *SOURCES]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True)
    for name in filter(lambda name: (ROOT / name).exists(), listed.stdout.splitlines()):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    shutil.copytree(ROOT / VENDOR, root / VENDOR, dirs_exist_ok=True)
    _git(root, "init", "-q")
    (root / ".git/info/exclude").write_text(".venv\n")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "all")
    _git(root, "tag", f"v{VERSION}")
    done = subprocess.run([root / "scripts/release"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (root / "said").write_text(done.stdout)
    return root / "dist"


@pytest.mark.integration
def test_release_has_wheel_source_chart_manifests_and_sbom_and_a_true_checksum_of_each(dist: Path) -> None:
    lines = (line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines())
    listed = {name: digest for digest, name in lines}
    assert sorted(listed) == [
        f"install-{VERSION}.yaml",
        f"sbom-{VERSION}.cdx.json",
        f"shunter-{VERSION}-py3-none-any.whl",
        f"shunter-{VERSION}.tar.gz",
        f"shunter-chart-{VERSION}.tgz",
    ]
    assert listed == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in listed}
    assert sorted(listed) == sorted(path.name for path in dist.iterdir() if path.name != "SHA256SUMS")


@pytest.mark.integration
def test_release_says_what_to_push(dist: Path) -> None:
    said = (dist.parent / "said").read_text()
    assert f"git push origin v{VERSION}" in said
    assert f"helm push dist/shunter-chart-{VERSION}.tgz" in said


@pytest.mark.integration
def test_wheel_and_source_distribution_hold_the_version_and_nothing_of_the_build(dist: Path) -> None:
    wheel = zipfile.ZipFile(dist / f"shunter-{VERSION}-py3-none-any.whl")
    assert wheel.read("shunter/_version.py").decode() == f'version = "{VERSION}"\n'
    assert {name.split("/")[0] for name in wheel.namelist()} == {"shunter", f"shunter-{VERSION}.dist-info"}
    with tarfile.open(dist / f"shunter-{VERSION}.tar.gz") as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {f"shunter/{name.partition('shunter/')[2]}" for name in names if name.startswith(VENDOR)} <= set(wheel.namelist())
    assert f"{VENDOR}/preact.js" in names
    assert {"PKG-INFO", "scripts/source_version.py", "scripts/build_hook.py", "src/shunter/__init__.py"} <= names
    assert not any(name.startswith(("tests", ".venv", "src/shunter/_version")) for name in names)


@pytest.mark.integration
def test_manifests_and_chart_of_a_release_name_its_image(dist: Path) -> None:
    objects = list(yaml.load_all((dist / f"install-{VERSION}.yaml").read_text(), Loader=yaml.CSafeLoader))
    (deployment,) = [obj for obj in objects if obj["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == f"shunter:{VERSION}"
    assert [obj["kind"] for obj in objects[:2]] == ["CustomResourceDefinition"] * 2
    with tarfile.open(dist / f"shunter-chart-{VERSION}.tgz") as chart:
        files = {member.name: found.read() for member in chart.getmembers() if (found := chart.extractfile(member))}
    in_tree = [path for path in (ROOT / "deploy/chart").rglob("*") if path.is_file()]
    assert files == {f"shunter/{path.relative_to(ROOT / 'deploy/chart')}": path.read_bytes() for path in in_tree}


@pytest.mark.integration
def test_sbom_lists_each_locked_dependency_with_its_hashes(dist: Path) -> None:
    found = json.loads((dist / f"sbom-{VERSION}.cdx.json").read_text())
    lock = (ROOT / "requirements/runtime.txt").read_text()
    packages = [part for part in found["components"] if part["purl"].startswith("pkg:pypi/")]
    assert {part["name"] for part in found["components"]} - {part["name"] for part in packages} >= {"preact", "htm"}
    assert {(part["name"], part["version"]) for part in packages} == {
        tuple(line.split(" ")[0].split("==")) for line in lock.splitlines() if "==" in line.split(" ")[0]
    }
    hashes = [one["value"] for part in packages for one in part["properties"] if one["name"] == "shunter:sha256"]
    assert len(hashes) == lock.count("--hash=sha256:")
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in packages)


@pytest.mark.integration
def test_release_without_the_scripts_of_the_page_is_refused(dist: Path, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", dist.parent, root], check=True)
    (root / ".venv").symlink_to(ROOT / ".venv")
    done = subprocess.run([root / "scripts/release"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "git push" not in done.stdout


@pytest.mark.integration
def test_same_commit_gives_the_same_bytes(dist: Path) -> None:
    before = (dist / "SHA256SUMS").read_text()
    subprocess.run([dist.parent / "scripts/release"], capture_output=True, check=True)
    assert (dist / "SHA256SUMS").read_text() == before


@pytest.mark.integration
def test_commit_after_the_tag_is_built_but_is_no_release(dist: Path, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-tags", dist.parent, root], check=True)
    (root / ".venv").symlink_to(ROOT / ".venv")
    shutil.copytree(ROOT / VENDOR, root / VENDOR)
    done = subprocess.run([root / "scripts/release"], capture_output=True, text=True, check=True)
    assert f"{VERSION}.dev0 is a development version" in done.stdout
    assert "push" not in done.stdout
    with tarfile.open(root / f"dist/shunter-chart-{VERSION}-dev.0.tgz") as chart:
        text = chart.extractfile("shunter/Chart.yaml")
        assert text
        assert yaml.safe_load(io.BytesIO(text.read()))["appVersion"] == f"{VERSION}.dev0"

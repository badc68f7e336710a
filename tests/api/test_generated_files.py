"""scripts/generate.py: what is in the repository is what the types say."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
DATA = Path("src/shunter/cluster/apiserver/data")
SCRIPTS = Path("src/shunter/page/assets/js")


def generate(root: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    script = root / "scripts" / "generate.py"
    return subprocess.run([sys.executable, str(script), *flags], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The generator and what it has written, to be spoilt."""
    for folder in ("scripts", "deploy", "docs", str(DATA), str(SCRIPTS)):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    return tmp_path


def test_generated_files_are_up_to_date() -> None:
    result = generate(ROOT, "--check")
    assert (result.returncode, result.stderr) == (0, "")


def test_check_names_stale_and_missing_files_and_changes_nothing(copy: Path) -> None:
    stale = copy / "deploy/crds/trainjobs.trainer.kubeflow.org.yaml"
    stale.write_text("edited by hand\n")
    (copy / DATA / "builtin-definitions.json.gz").unlink()
    result = generate(copy, "--check")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        f"{DATA}/builtin-definitions.json.gz is stale: run `make generate`",
        "deploy/crds/trainjobs.trainer.kubeflow.org.yaml is stale: run `make generate`",
    ]
    assert stale.read_text() == "edited by hand\n"


def test_generating_repairs_what_check_named(copy: Path) -> None:
    (copy / "deploy/crds/trainjobs.trainer.kubeflow.org.yaml").unlink()
    assert generate(copy).stdout == "deploy/crds/trainjobs.trainer.kubeflow.org.yaml\n"
    assert generate(copy, "--check").returncode == 0


def test_other_compression_of_the_same_content_is_not_stale(copy: Path) -> None:
    path = copy / DATA / "crds/jobsets.jobset.x-k8s.io.json.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1))
    assert generate(copy, "--check").returncode == 0


@pytest.mark.slow
def test_what_is_packaged_is_what_is_deployed() -> None:
    for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        deployed = yaml.load(path.read_text(), yaml.CSafeLoader)
        packaged = gzip.decompress((ROOT / DATA / "crds" / f"{path.stem}.json.gz").read_bytes())
        assert deployed == yaml.load(packaged.decode(), yaml.CSafeLoader)

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


def test_check_names_what_is_stale_or_missing_and_generating_repairs_just_that(tmp_path: Path) -> None:
    """What it does not name is up to date; other compression of the same content is not stale."""
    for folder in ("scripts", "deploy", "docs", str(DATA), str(SCRIPTS)):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    stale, missing = Path("deploy/crds/trainjobs.trainer.kubeflow.org.yaml"), DATA / "builtin-definitions.json.gz"
    (tmp_path / stale).write_text("edited by hand\n")
    (tmp_path / missing).unlink()
    recompressed = tmp_path / DATA / "crds/jobsets.jobset.x-k8s.io.json.gz"
    recompressed.write_bytes(gzip.compress(gzip.decompress(recompressed.read_bytes()), compresslevel=1))
    before = recompressed.read_bytes()

    checked = generate(tmp_path, "--check")
    assert checked.returncode == 1
    assert checked.stderr.splitlines() == [f"{path} is stale: run `make generate`" for path in (missing, stale)]
    assert ((tmp_path / stale).read_text(), (tmp_path / missing).exists()) == ("edited by hand\n", False)

    generated = generate(tmp_path)
    assert (generated.returncode, generated.stdout.splitlines()) == (0, [str(missing), str(stale)])
    assert (tmp_path / stale).read_bytes() == (ROOT / stale).read_bytes()
    assert gzip.decompress((tmp_path / missing).read_bytes()) == gzip.decompress((ROOT / missing).read_bytes())
    assert recompressed.read_bytes() == before


@pytest.mark.slow
def test_what_is_packaged_is_what_is_deployed() -> None:
    for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        deployed = yaml.load(path.read_text(), yaml.CSafeLoader)
        packaged = gzip.decompress((ROOT / DATA / "crds" / f"{path.stem}.json.gz").read_bytes())
        assert deployed == yaml.load(packaged.decode(), yaml.CSafeLoader)

"""scripts/generate.py: what is in the repository is what the types say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import yaml

from generate import stale_files, write

ROOT = Path(__file__).resolve().parents[2]
DATA = Path("src/shunter/cluster/apiserver/data")


def test_what_is_stale_or_missing_is_found_and_written_as_it_should_be(tmp_path: Path) -> None:
    """Other compression of the same content is not stale. `make lint` asks the same of all generated files."""
    text, packed, missing, missing_packed = Path("a/text"), Path("a/packed.gz"), Path("b/text"), Path("b/packed.gz")
    files = dict.fromkeys((text, packed, missing, missing_packed), b"as generated\n")
    write(tmp_path / text, b"edited by hand\n")
    recompressed = gzip.compress(b"as generated\n", compresslevel=1)
    (tmp_path / packed).write_bytes(recompressed)

    stale = stale_files(files, tmp_path)
    assert list(stale) == [text, missing, missing_packed]

    for path, wanted in stale.items():
        write(tmp_path / path, wanted)
    assert stale_files(files, tmp_path) == {}
    assert (tmp_path / text).read_bytes() == b"as generated\n"
    assert gzip.decompress((tmp_path / missing_packed).read_bytes()) == b"as generated\n"
    assert (tmp_path / packed).read_bytes() == recompressed


@pytest.mark.slow
def test_what_is_packaged_is_what_is_deployed() -> None:
    for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        deployed = yaml.load(path.read_text(), yaml.CSafeLoader)
        packaged = gzip.decompress((ROOT / DATA / "crds" / f"{path.stem}.json.gz").read_bytes())
        assert deployed == yaml.load(packaged.decode(), yaml.CSafeLoader)

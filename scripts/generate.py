#!/usr/bin/env python
"""Writes the files that are generated, or with --check names those that are stale and exits 1.

Two versions of truth are never kept: CRDs come from the types in shunter/api, schemas of Kubernetes' own types from the PyPI
package kubernetes-validate.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

import msgspec

from builtin_definitions import builtin_definitions

ROOT = Path(__file__).resolve().parent.parent
PACKAGED = Path("src/shunter/cluster/apiserver/data")


def generated_files() -> dict[Path, bytes]:
    """Path below the repository's root -> content; the content of a `.gz` file is what it unpacks to."""
    return {PACKAGED / "builtin-definitions.json.gz": msgspec.json.encode(builtin_definitions())}


def content(path: Path) -> bytes | None:
    """What stands in a generated file now, unpacked: compressed bytes differ between versions of zlib."""
    if not path.exists():
        return None
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def write(path: Path, wanted: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(wanted, mtime=0) if path.suffix == ".gz" else wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is stale")
    only_check = parser.parse_args().check
    stale = {path: wanted for path, wanted in generated_files().items() if content(ROOT / path) != wanted}
    for path, wanted in stale.items():
        if only_check:
            print(f"{path} is stale: run `make generate`", file=sys.stderr)
        else:
            write(ROOT / path, wanted)
            print(path)
    return 1 if only_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

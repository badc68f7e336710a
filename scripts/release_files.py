"""release_files.py FOLDER: writes the files of a release that are no Python packages: chart, manifests, SBOM.

Run with the code of the wheel on PYTHONPATH: versions and image tags are the wheel's.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from packaging.requirements import Requirement

import cyclonedx
from deploy_files import CHART, chart_files, chart_version, yaml_text
from shunter import __version__
from shunter.api.meta import Json
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.install import manifests
from shunter.install.installing import Installation
from shunter.install.names import NAMESPACE
from shunter.install.values import checked

ROOT = Path(__file__).resolve().parent.parent


def release_files() -> dict[str, bytes]:
    """File name -> content. The same for the same source."""
    installation = Installation(checked({}), namespace=NAMESPACE, crds=packaged_crds())
    chart = chart_files(manifests.chosen_crds(packaged_crds(), checked({})))
    locked = (ROOT / "requirements/runtime.txt").read_text(encoding="utf-8")
    vendored = msgspec.json.decode((ROOT / "src/shunter/page/vendor.cdx.json").read_bytes())["components"]
    return {
        f"install-{__version__}.yaml": yaml_text(*installation.objects()).encode(),
        f"shunter-chart-{chart_version(__version__)}.tgz": packed_chart(chart),
        f"sbom-{__version__}.cdx.json": msgspec.json.format(msgspec.json.encode(sbom(locked, vendored))) + b"\n",
    }


def packed_chart(files: Mapping[Path, str]) -> bytes:
    """What `helm package` makes of the chart, without times and owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in sorted(files.items()):
            member = tarfile.TarInfo(f"shunter/{path.relative_to(CHART)}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)


def sbom(locked: str, vendored: Iterable[Json]) -> Json:
    """A CycloneDX document: Shunter and the packages of its image, with their hashes. `locked` is requirements/runtime.txt,
    `vendored` are the components of the web page."""
    return {
        **cyclonedx.HEAD,
        "metadata": {
            "component": {
                **_component("shunter", __version__),
                "type": "application",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [*_components(locked), *vendored],
    }


def _components(locked: str) -> Iterator[Json]:
    for entry in re.split(r"\n(?=\S)", locked.strip()):
        requirement = Requirement(entry.split("\\")[0])
        (pinned,) = requirement.specifier
        properties = [{"name": "shunter:marker", "value": str(requirement.marker)}] if requirement.marker else []
        properties += [{"name": "shunter:sha256", "value": digest} for digest in re.findall(r"--hash=sha256:(\w+)", entry)]
        yield {**_component(requirement.name, pinned.version), "properties": properties}


def _component(name: str, version: str) -> Json:
    found = cyclonedx.library("pypi", name, version)
    return {**found, "bom-ref": found["purl"]}


def main() -> None:
    folder = Path(sys.argv[1])
    for name, content in release_files().items():
        folder.joinpath(name).write_bytes(content)


if __name__ == "__main__":
    main()

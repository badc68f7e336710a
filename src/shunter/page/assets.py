"""The page's own files, and the shell that holds them together: read once when the page starts.

`assets/shell.html` is the same for every address. In it `{{importmap}}` becomes the content of `assets/importmap.json`, which
says where the scripts of others are, `{{boot}}` that of `assets/boot.js`, which starts the page, and `{{preloads}}` a link for
each of our modules, which are then asked for at once. These are sent without their comments, which are an eighth of the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cached_property
from pathlib import Path

from shunter.errors import EnvironmentProblem

ASSETS = Path(__file__).with_name("assets")
VENDOR = "vendor"
SHELL = "shell.html"
IMPORT_MAP = "importmap.json"
BOOT = "boot.js"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
TYPES_ONLY = "js/wire.js"
"""Imported in comments alone."""
_COMMENT = re.compile(r"/\*\*.*?\*/ ?|^[ \t]*//.*?$", re.DOTALL | re.MULTILINE)
_PACKED = (".css", ".html", ".js", ".json", ".mjs", ".svg")
"""What is worth compressing."""


class Asset:
    """A file as it is sent."""

    def __init__(self, path: Path, body: bytes) -> None:
        self.body = body
        self.content_type = TYPES[path.suffix]
        self._is_packed = path.suffix in _PACKED
        self.etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    @cached_property
    def gzipped(self) -> bytes:
        """Empty where that is no gain."""
        packed = gzip.compress(self.body, 9, mtime=0) if self._is_packed else b""
        return packed if len(packed) < len(self.body) else b""


class Assets:
    """All files by their path below `/assets/`; what is not here is not served."""

    def __init__(self, root: Path = ASSETS) -> None:
        files = sorted(path for path in root.rglob("*") if path.suffix in TYPES and path.is_file())
        named = {path.relative_to(root).as_posix(): path for path in files}
        self.files = {name: Asset(path, _sent(name, path)) for name, path in named.items() if name != TYPES_ONLY}
        self.import_map = self.files[IMPORT_MAP].body.decode().strip() if IMPORT_MAP in self.files else '{"imports": {}}'
        self.boot = self.files[BOOT].body.decode() if BOOT in self.files else ""
        self.shell = Asset(root / SHELL, self._shell(root).encode())

    @property
    def script_hash(self) -> str:
        """Of the inline scripts, the import map and the boot script, as a Content-Security-Policy names them."""
        digests = (hashlib.sha256(text.encode()).digest() for text in (self.import_map, self.boot))
        return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)

    def _shell(self, root: Path) -> str:
        text = (root / SHELL).read_text()
        modules = [path for path in self.files if path.startswith("js/") and path.endswith(".js")]
        preloads = "".join(f'<link rel="modulepreload" href="/assets/{path}">' for path in modules)
        return text.replace("{{importmap}}", self.import_map).replace("{{boot}}", self.boot).replace("{{preloads}}", preloads)


def _sent(name: str, path: Path) -> bytes:
    return without_comments(path.read_text()).encode() if name.startswith("js/") else path.read_bytes()


def without_comments(script: str) -> str:
    """One of our modules without its block comments and those that have a line of their own; every line keeps its number."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), script)


def require_vendor(root: Path = ASSETS) -> None:
    """EnvironmentProblem, naming the command, where the scripts of others were not put in place: only in a source tree."""
    if not any((root / VENDOR).glob("*.js")):
        raise EnvironmentProblem(
            f"the scripts that the page needs are not in {root / VENDOR}.", "Put them there with: make setup"
        )

"""The page's static files, read once when the page starts.

`assets/shell.html` is the HTML of every address. In it, `{{importmap}}` is replaced by `assets/importmap.json`, which locates the
vendored scripts, `{{boot}}` by `assets/boot.js`, which starts the page, and `{{preloads}}` by a link for each module of the page,
so that browsers request them at once. Modules are sent without their comments, which would be an eighth of the page.
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
"""Used only in comments, for type checks; not served."""
_COMMENT = re.compile(r"/\*\*.*?\*/ ?|^[ \t]*//.*?$", re.DOTALL | re.MULTILINE)
_PACKED = (".css", ".html", ".js", ".json", ".mjs", ".svg")
"""Types that are compressed."""


class Asset:
    """A file as it is sent."""

    def __init__(self, path: Path, body: bytes) -> None:
        self.body = body
        self.content_type = TYPES[path.suffix]
        self._is_packed = path.suffix in _PACKED
        self.etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    @cached_property
    def gzipped(self) -> bytes:
        """Empty if compression does not make it smaller."""
        packed = gzip.compress(self.body, 9, mtime=0) if self._is_packed else b""
        return packed if len(packed) < len(self.body) else b""


class Assets:
    """All files, by their path below `/assets/`; no others are served."""

    def __init__(self, root: Path = ASSETS) -> None:
        files = sorted(path for path in root.rglob("*") if path.suffix in TYPES and path.is_file())
        named = {path.relative_to(root).as_posix(): path for path in files}
        self.files = {name: Asset(path, _sent(name, path)) for name, path in named.items() if name != TYPES_ONLY}
        self.import_map = self.files[IMPORT_MAP].body.decode().strip() if IMPORT_MAP in self.files else '{"imports": {}}'
        self.boot = self.files[BOOT].body.decode() if BOOT in self.files else ""
        self.shell = Asset(root / SHELL, self._shell(root).encode())

    @property
    def script_hash(self) -> str:
        """The sources of the inline scripts (import map and boot script) for a Content-Security-Policy."""
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
    """A module without its `/** */` comments and its `//` comments on lines of their own; line numbers stay the same."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), script)


def require_vendor(root: Path = ASSETS) -> None:
    """Raises EnvironmentProblem if the vendored scripts are missing, which happens only in a source tree."""
    if not any((root / VENDOR).glob("*.js")):
        raise EnvironmentProblem(f"the scripts that the page needs are not in {root / VENDOR}.", "Get them with: make setup")

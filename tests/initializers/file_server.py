"""A web server on loopback for files, with ranges, versions and every kind of trouble; and a hub in the form that huggingface_hub
expects."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Asked(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]


class FileServer:
    """Serves `files` (path to content). `breaks` are bytes after which an answer of that path breaks off, one after another;
    `answers` are codes with which a path is refused, one after another."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.redirects: dict[str, str] = {}
        self.breaks: dict[str, list[int]] = {}
        self.answers: dict[str, list[int]] = {}
        self.documents: dict[str, object] = {}
        self.token = ""
        self.gated: set[str] = set()
        """Repositories that everybody sees, and whose files only those get who have accepted their terms."""
        self.has_ranges = True
        self.asked: list[Asked] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            def do_HEAD(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked_for(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path == path]

    def add_repository(self, kind: str, name: str, files: Mapping[str, bytes], *, large: tuple[str, ...] = ()) -> None:
        """A repository as the hub shows it; `large` files are in LFS, as it is called."""
        prefix = "" if kind == "model" else f"{kind}s/"
        siblings = []
        for path, content in files.items():
            blob = hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
            sibling: dict[str, object] = {"rfilename": path, "size": len(content), "blobId": blob}
            etag = blob
            if path in large:
                etag = hashlib.sha256(content).hexdigest()
                sibling["lfs"] = {"size": len(content), "sha256": etag, "pointerSize": 130}
            siblings.append(sibling)
            place = f"/{prefix}{name}/resolve/{COMMIT}/{path}"
            self.files[place] = content
            self.headers[place] = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}
        self.documents[f"/api/{kind}s/{name}"] = {"id": name, "sha": COMMIT, "siblings": siblings}

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(Asked(request.command, path, {name.lower(): value for name, value in request.headers.items()}))
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            self._send(request, 401, {}, b"who are you")
        elif self.answers.get(path):
            self._send(request, self.answers[path].pop(0), {}, b"trouble")
        elif any(f"{name}/resolve/" in path for name in self.gated):
            message = "Access to this repository is restricted and you are not in the authorized list."
            self._send(request, 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": message}, message.encode())
        elif path in self.redirects:
            self._send(request, 302, {"Location": self.redirects[path]}, b"")
        elif path in self.documents:
            self._send(request, 200, {"Content-Type": "application/json"}, json.dumps(self.documents[path]).encode())
        elif path in self.files:
            self._send_file(request, path)
        else:
            headers = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            self._send(request, 404, headers, b"not found")

    def _send_file(self, request: BaseHTTPRequestHandler, path: str) -> None:
        content = self.files[path]
        headers = {"ETag": f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"', **self.headers.get(path, {})}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        validator = headers["ETag"] or headers["Last-Modified"]
        if match and self.has_ranges and request.headers.get("If-Range", validator) == validator:
            start, end = int(match[1]), min(int(match[2] or len(content) - 1), len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            self._send(request, 206, headers, content[start : end + 1], path)
        else:
            self._send(request, 200, headers, content, path)

    def _send(self, request: BaseHTTPRequestHandler, code: int, headers: Mapping[str, str], body: bytes, path: str = "") -> None:
        request.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command == "HEAD":
            return
        breaks = self.breaks.get(path)
        if breaks and len(body) > 1:
            request.wfile.write(body[: breaks.pop(0)])
            request.close_connection = True
        else:
            request.wfile.write(body)

"""Asks a running page, as a browser does, for its shell, for every file that is named there or in one of its scripts, and for
the list of jobs. Run by `scripts/check-wheel` with the link that `shunter ui` prints.

python check_page.py LINK
"""

from __future__ import annotations

import http.client
import json
import re
import sys
from urllib.parse import urljoin, urlsplit

SECONDS = 30
_NAMED = re.compile(r'(?:href|src)="(/assets/[^"]+)"')
_IMPORTED = re.compile(r'(?:from|import)\s*"([^"]+)"|["`](/assets/[^"`?$]+)')
_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


def main(link: str) -> None:
    page = Page(link)
    shell = page.text("/jobs")
    import_map = _MAP.search(shell)
    assert import_map is not None, "the shell has no import map"
    imports: dict[str, str] = json.loads(import_map[1])["imports"]
    left, seen = {*_NAMED.findall(shell), *imports.values()}, set[str]()
    while left:
        path = left.pop()
        seen.add(path)
        text = page.text(path)
        assert text.strip(), f"{path} is empty"
        if path.endswith(".js"):
            names = {imports.get(name, urljoin(path, name)) for found in _IMPORTED.findall(text) for name in found if name}
            left |= {name for name in names if name.startswith("/assets/")} - seen
    assert {"/assets/vendor/preact.js", "/assets/js/plot.js"} <= seen, f"what the page is made with is not among {sorted(seen)}"
    with page.answer("/api/live?view=jobs") as stream:
        assert stream.readline() == b"event: snapshot\n", "the page shows no jobs"
    print(f"the page serves its shell and all of the {len(seen)} files that it needs")


class Page:
    """Of one viewer, who is logged in."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self._host = parts.netloc
        with self.answer(f"{parts.path}?{parts.query}", status=303) as login:
            self._cookie = str(login.headers["Set-Cookie"]).partition(";")[0]

    _cookie = ""

    def text(self, path: str) -> str:
        with self.answer(path) as answer:
            return answer.read().decode()

    def answer(self, path: str, status: int = 200) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._host, timeout=SECONDS)
        connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = connection.getresponse()
        assert answer.status == status, f"{path}: {answer.status} instead of {status}"
        return answer


if __name__ == "__main__":
    main(sys.argv[1])

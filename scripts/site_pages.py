#!/usr/bin/env python
"""Copies docs/ to build/docs for the site generator.

Links to files outside docs/ become addresses in the repository, where that has one on the web, and else plain text. A page
README.md becomes the index of its directory, but for the one that docs/index.md stands for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
DOCS, PAGES = ROOT / "docs", ROOT / "build/docs"
LIST = "pages.md"
"""What docs/README.md, the list of all pages by task, is called on the site."""
LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")
"""Text, file and anchor of a link to a file."""


def pages(repository: str) -> dict[str, str]:
    """Path below build/docs -> content. `repository` is the address of the repository's files; empty where it has none."""
    found = {path.relative_to(DOCS).as_posix(): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    return {site_path(page): site_text(page, text, repository) for page, text in found.items()}


def site_path(page: str) -> str:
    """Where a page of docs/ stands on the site."""
    if page == "README.md":
        return LIST
    return f"{page.removesuffix('README.md')}index.md" if page.endswith("/README.md") else page


def site_text(page: str, text: str, repository: str) -> str:
    """The page with its links as the site needs them."""

    def moved(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = PurePosixPath(os.path.normpath(PurePosixPath("docs") / PurePosixPath(page).parent / target))
        if path.parts[:1] != ("docs",):
            return f"[{words}]({repository}/{path}{anchor})" if repository else words
        inside = site_path(path.relative_to("docs").as_posix())
        return f"[{words}]({os.path.relpath(inside, PurePosixPath(page).parent)}{anchor})"

    return LINK.sub(moved, text)


def repository_address() -> str:
    """$REPOSITORY, else that of the git remote `origin` on the web; empty where there is none."""
    asked = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    found = os.environ.get("REPOSITORY") or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return f"{found.removesuffix('.git')}/blob/main" if found.startswith(("https://", "http://")) else ""


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.md"))
    for name, content in pages(repository_address()).items():
        (PAGES / name).write_text(content)
    if not repository_address():
        print(
            "links to files outside docs/ are plain text: set REPOSITORY to the repository's address on the web", file=sys.stderr
        )


if __name__ == "__main__":
    main()

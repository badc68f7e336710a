"""The page's files: what opening it costs."""

from __future__ import annotations

import re

from shunter.page.assets import Assets

MOST = 60_000
"""Bytes that a browser is sent until any view can be shown; people open the page over thin lines too."""


def test_what_the_page_is_made_of_is_small_and_asked_for_at_once() -> None:
    assets = Assets()
    named = re.findall(r'(?:href|src)="/assets/([^"]+)"', assets.shell.body.decode())
    files = [assets.shell, *(assets.files[name] for name in named)]
    assert sum(len(file.gzipped or file.body) for file in files) < MOST
    modules = {name for name in assets.files if name.startswith("js/")}
    assert modules <= set(named), "all that a view may need is asked for at once"

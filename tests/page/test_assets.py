"""The page's files: what opening it costs."""

from __future__ import annotations

import re

from shunter.page.assets import EXPORTS, Assets

MOST = 60_000
"""Bytes that a browser is sent until any view but a curve can be shown; people open the page over thin lines too."""


def test_what_opens_the_page_is_small_and_curves_are_not_part_of_it() -> None:
    assets = Assets()
    named = re.findall(r'(?:href|src)="/assets/([^"]+)"', assets.shell.body.decode())
    files = [assets.shell, *(assets.files[name] for name in named)]
    assert sum(len(file.gzipped or file.body) for file in files) < MOST
    modules = {name for name in assets.files if name.endswith(".js") and name not in ("boot.js", *EXPORTS)}
    assert modules <= set(named), "all that the first view may need is asked for at once"
    assert not EXPORTS.keys() & set(named)


def test_a_script_that_defines_a_variable_is_sent_as_a_module() -> None:
    assert Assets().files["vendor/uplot.js"].body.endswith(b"\nexport default uPlot;\n")

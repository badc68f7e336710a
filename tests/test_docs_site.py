"""The docs site: every page is in its menu, every link and anchor leads somewhere, and the generator finds no fault."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from site_pages import DOCS, pages, site_text

ROOT = Path(__file__).parents[1]
ADDRESS = "https://example.org/shunter/blob/main"
BINARIES = Path(sys.executable).parent


def in_menu(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node
    return [page for child in children for page in in_menu(child)]  # type: ignore[attr-defined]


def test_the_menu_has_every_page_once_and_four_parts() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert sorted(in_menu(menu)) == sorted(pages(""))
    assert [name for part in menu for name in part] == ["Home", "Start", "Run", "Move to v2", "Operate"]


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("training/run.md", "[a](../../CONTRIBUTING.md#style)", f"[a]({ADDRESS}/CONTRIBUTING.md#style)"),
        ("training/run.md", "[a](../README.md)", "[a](../pages.md)"),
        ("architecture.md", "[a](decisions/README.md#b)", "[a](decisions/index.md#b)"),
        ("decisions/README.md", "[a](0003-fifo.md)", "[a](0003-fifo.md)"),
        ("README.md", "[a](quickstart.md), [b](https://example.org/x.md), [c](#d)", None),
    ],
    ids=["outside docs", "the list of pages", "an index", "a neighbour", "nothing to do"],
)
def test_links_are_those_of_the_site(page: str, text: str, expected: str | None) -> None:
    assert site_text(page, text, ADDRESS) == (expected or text)


def test_without_an_address_links_out_of_docs_are_text() -> None:
    assert site_text("faq.md", "see [the rules](../src/shunter/api/core.py).", "") == "see the rules."


def test_files_outside_docs_that_pages_link_to_exist() -> None:
    found = [link for text in pages(ADDRESS).values() for link in re.findall(rf"\]\({re.escape(ADDRESS)}/([^)#]+)", text)]
    assert len(found) > 100
    assert [link for link in found if not (ROOT / link).exists()] == []


@pytest.mark.integration
def test_the_generator_finds_no_fault_and_would_find_a_lost_anchor() -> None:
    """Both in build/, where `make site` writes as well."""
    subprocess.run([sys.executable, ROOT / "scripts/site_pages.py"], check=True, timeout=60)
    assert built().returncode == 0, built().stdout
    assert (ROOT / "build/site/search.json").exists()
    page = ROOT / "build/docs/faq.md"
    page.write_text(f"{page.read_text()}\n[lost](install.md#no-such-heading)\n")
    try:
        assert built().returncode != 0, "an anchor that does not exist passes"
    finally:
        page.write_text((DOCS / "faq.md").read_text())


def built() -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "zensical"), "build", "--clean", "--strict", "--config-file", "mkdocs.yml"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=90)

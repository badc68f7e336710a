"""The file by which other commands find a page: private, and there only while the page is served."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from shunter.page.record import PageRecord, opener, page_record, recorded

RECORD = PageRecord(url="http://127.0.0.1:8642", cluster="embedded", key=b"k" * 32)


def test_a_page_is_found_while_it_is_served_and_not_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "state" / "page.json"
    assert page_record(path) is None
    with recorded(path, RECORD):
        assert page_record(path) == RECORD
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [one.name for one in path.parent.iterdir()] == ["page.json"], "nothing is left beside it"
    assert page_record(path) is None
    assert not path.exists()


def test_a_file_that_a_killed_page_left_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    with recorded(path, RECORD):
        content = path.read_bytes()
    path.write_bytes(content)
    assert page_record(path) is None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff"])
def test_a_damaged_file_is_no_record(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page.json"
    with recorded(path, RECORD):
        path.write_bytes(content)
        assert page_record(path) is None


def test_of_two_pages_the_later_one_is_found_until_it_ends(tmp_path: Path) -> None:
    path, later = tmp_path / "page.json", PageRecord(url="http://127.0.0.1:9000", cluster="other", key=b"l" * 32)
    with recorded(path, RECORD):
        with recorded(path, later):
            assert page_record(path) == later
        assert page_record(path) is None
    with recorded(path, later):
        with recorded(path, RECORD):
            pass
        assert not path.exists()


def test_a_page_that_ends_leaves_the_file_of_a_later_one(tmp_path: Path) -> None:
    path, later = tmp_path / "page.json", PageRecord(url="http://127.0.0.1:9000", cluster="other", key=b"l" * 32)
    first, second = recorded(path, RECORD), recorded(path, later)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert page_record(path) == later
    second.__exit__(None, None, None)
    assert page_record(path) is None


def test_an_address_becomes_no_markup() -> None:
    text = opener('http://127.0.0.1:1/open?code="><script>alert(1)</script>&x=1')
    assert "<script>" not in text
    assert text.count("&quot;&gt;&lt;script&gt;") == 2
    assert "&amp;x=1" in text

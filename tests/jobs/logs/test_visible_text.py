"""Texts as they are shown, on the page and in terminals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.jobs.logs.checkpoints import saved_step
from shunter.jobs.logs.metrics import log_report
from shunter.jobs.logs.visible_text import LONGEST, visible, visible_line
from shunter.operator.program_logs.lines import parsed

TEXTS = {
    "plain text stays, with tabs and newlines": ("loss 0.5\tstep 3\nok", "loss 0.5\tstep 3\nok"),
    "markup is text": ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
    "colours go": ("\x1b[1;31mError\x1b[0m: no", "Error: no"),
    "a cursor that goes up goes": ("a\x1b[2K\x1b[1Ab", "ab"),
    "a link of a terminal leaves its text": ("\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07", "click"),
    "a title of a terminal goes": ("\x1b]0;owned\x1b\\x", "x"),
    "a title that a bell ends goes": ("\x1b]0;title\x07bell\x07", "bell\u2407"),
    "a link that ST ends leaves its text": ("\x1b]8;;http://x\x1b\\click\x1b]8;;\x1b\\", "click"),
    "a device string goes": ("\x1bPq#0\x1b\\x", "x"),
    "a sequence that is cut off goes": ("end\x1b[3", "end3"),
    "a NUL is seen": ("a\x00b", "a\u2400b"),
    "a bell is seen": ("a\x07b", "a\u2407b"),
    "text that turns around is seen": ("user\u202egnp.exe", "user<U+202E>gnp.exe"),
    "isolates are seen": ("\u2066x\u2069", "<U+2066>x<U+2069>"),
    "what has no width is seen": ("pass\u200bword", "pass<U+200B>word"),
    "a C1 sequence goes": ("\x9b31mred", "red"),
    "a lone C1 control is seen": ("a\x85b", "a<U+0085>b"),
    "letters of all scripts stay": (
        "\u4e2d\u6587 \u05d0\u05d1 \u0627 \u00e9 \U0001f680",
        "\u4e2d\u6587 \u05d0\u05d1 \u0627 \u00e9 \U0001f680",
    ),
}


@pytest.mark.parametrize(("text", "shown"), TEXTS.values(), ids=TEXTS)
def test_what_is_shown_of_a_text(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_is_shown_is_a_control_or_changes_directions(text: str) -> None:
    odd = set(map(chr, [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
    shown = visible(text)
    assert not odd & set(shown)
    assert visible(shown) == shown


def test_of_a_progress_bar_the_last_state_is_shown() -> None:
    assert visible_line("10%|#\r50%|#####\r100%|##########") == "100%|##########"
    assert visible_line("done\r") == "done"
    assert visible_line("failed: Traceback\n  File") == "failed: Traceback\u240a  File"
    assert visible_line(" 10%|#   |\r 20%|##  |\r\x1b[K") == " 20%|##  |", "the line is emptied for the next state"


def test_a_line_is_cut_at_ten_thousand_characters_and_says_so() -> None:
    assert visible_line("x" * LONGEST) == "x" * LONGEST
    assert visible_line("x" * (LONGEST + 1)) == "x" * (LONGEST - 1) + "\u2026"


@pytest.mark.parametrize("title", ["\x1b]0;train\x07", "\x1b]0;train\x1b\\"], ids=["ended by BEL", "ended by ST"])
def test_a_title_of_the_terminal_is_neither_shown_nor_read(title: str) -> None:
    """Wherever lines of logs are taken: for a person, for metrics, for the doctor, for checkpoints."""
    line = f"{title}step 3 loss 0.5"
    assert visible_line(line) == "step 3 loss 0.5"
    (series,) = log_report([line], pod="p", rank=0).series
    assert (series.name, series.points[0].at) == ("loss", (3.0,))
    assert [one.text for one in parsed(line)] == ["step 3 loss 0.5"]
    assert saved_step(f"{title}saved checkpoint at step 3") == 3

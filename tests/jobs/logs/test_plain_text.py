"""What is shown of a log line moves no cursor, and is what the program showed last."""

import pytest

from shunter.jobs.logs.plain_text import plain_text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("step 1 loss 0.5", "step 1 loss 0.5"),
        ("\x1b[31mred\x1b[0m \x1b[2Jgone", "red gone"),
        (" 10%|#   |\r 20%|##  |", " 20%|##  |"),
        (" 20%|##  |\r", " 20%|##  |"),
        ("a\tb", "a       b"),
        ("\x1b]0;title\x07bell\x07", "]0;titlebell"),
        ("user\u202etxt.exe\u2066", "usertxt.exe"),
        ("gr\u00fc\u00dfe \u2713", "gr\u00fc\u00dfe \u2713"),
        ("x" * 20_000, "x" * 10_000),
    ],
    ids=["plain", "colours", "progress bar", "open progress bar", "tab", "title", "bidi", "letters", "long"],
)
def test_plain_text(line: str, expected: str) -> None:
    assert plain_text(line) == expected

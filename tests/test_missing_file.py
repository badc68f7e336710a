"""A file that is not there: the error names it, and what may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.missing_file import missing_file


def test_a_link_that_leads_nowhere_is_named_and_not_suggested(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").symlink_to("gone.yaml")
    error = missing_file(tmp_path / "job.yaml", remedy="Name one that exists.")
    assert error.message == f"{tmp_path / 'job.yaml'} is a link to gone.yaml, which does not exist."
    assert error.remedy == missing_file(tmp_path / "job.yml", remedy="Name one that exists.").remedy == "Name one that exists."


@pytest.mark.parametrize(
    ("name", "pattern", "remedy"),
    [
        ("job.yml", "*", "Did you mean {}/job.yaml?"),
        ("job.yml", "*.py", "Name one that exists."),
        ("other.txt", "*", "Name one that exists."),
        ("gone/job.yml", "*", "Name one that exists."),
        ("example/v1.yaml", "*", "Did you mean {}/examples/v1.yaml?"),
        ("example/v2.yaml", "*", "Name one that exists."),
    ],
    ids=[
        "nearly so called",
        "of another kind",
        "nothing like it",
        "no such directory",
        "in a directory nearly so called",
        "not in that directory either",
    ],
)
def test_what_has_nearly_the_name_is_suggested(tmp_path: Path, name: str, pattern: str, remedy: str) -> None:
    (tmp_path / "job.yaml").touch()
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "v1.yaml").touch()
    error = missing_file(tmp_path / name, pattern=pattern, remedy="Name one that exists.")
    assert (error.message, error.remedy) == (f"{tmp_path / name}: no such file or directory.", remedy.format(tmp_path))

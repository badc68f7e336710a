"""deploy/Containerfile: what a platform's admission looks at, without a container engine."""

import re

from install.charts import DEPLOY

TEXT = (DEPLOY / "Containerfile").read_text()
INSTRUCTIONS = re.findall(r"^([A-Z]+) (.*)$", TEXT, re.MULTILINE)


def values(instruction: str) -> list[str]:
    return [value for name, value in INSTRUCTIONS if name == instruction]


def test_the_base_image_is_an_argument_without_a_host() -> None:
    assert values("ARG") == ["BASE=python:3.13-slim"]
    assert [value.split()[0] for value in values("FROM")] == ["${BASE}", "${BASE}"]


def test_its_libraries_are_the_locked_ones_by_hash() -> None:
    assert "requirements/runtime.txt /tmp/runtime.txt" in values("COPY")
    assert "--require-hashes -r /tmp/runtime.txt" in TEXT
    assert TEXT.count("pip install") == 1


def test_its_user_is_a_number_that_is_not_root_so_that_run_as_non_root_can_be_checked() -> None:
    user = values("USER")[-1]
    assert re.fullmatch(r"[1-9]\d*:0", user)

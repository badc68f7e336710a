"""The plan as people edit it: what is read, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from migrate.moving.test_planning import job, plan
from shunter.errors import InputError
from shunter.migrate.moving.plan import Plan, read, text
from shunter.migrate.moving.run_plan import chosen
from shunter.migrate.own_files import PLAN_HEADER

PLAN = plan(job(suspend=True), suffix="-v2")


def test_what_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(text(PLAN))
    assert read(tmp_path / "plan.yaml") == PLAN
    assert text(PLAN).startswith(PLAN_HEADER)


def test_options_of_a_job_go_before_those_of_the_plan() -> None:
    [item] = PLAN.items
    edited = msgspec.structs.replace(item, options={"suffix": "-next", "torchLaunch": "torchrun"})
    options = PLAN.options_of(edited)
    assert (options.suffix, options.torch_launch, options.suspend) == ("-next", "torchrun", True)
    assert PLAN.options_of(item).suffix == "-v2"


def test_no_option_starts_a_job_that_was_read_from_a_cluster() -> None:
    [item] = PLAN.items
    assert PLAN.options_of(msgspec.structs.replace(item, options={"suspend": False})).suspend is True


def edited(old: str, new: str) -> str:
    assert old in text(PLAN)
    return text(PLAN).replace(old, new)


MISTAKES = {
    "an action that is none": (edited("action: create", "action: creat"), "Invalid enum value 'creat'"),
    "an option that is none": (
        edited("name: bert\n", "name: bert\n    options: {torchLunch: auto}\n"), "options has no torchLunch"),
    "an option with a value that is none": (
        edited("name: bert\n", "name: bert\n    options: {torchLaunch: never}\n"), "options: Invalid enum value 'never'"),
    "a newer format": (edited("format: 1", "format: 9"), "format is 9"),
    "no YAML": ("{", "plan.yaml"),
    "a kind that is none": (edited("kind: PyTorchJob", "kind: pytorchjob"), "pytorchjob team/bert: kind is none of v1: JAXJob"),
    "an id that is a path": (edited(f"id: {PLAN.id}", "id: ../../bert"), "id is '../../bert'; it names the journal"),
    "an id that is empty": (edited(f"id: {PLAN.id}", "id: ''"), "id is ''; it names the journal"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_told(case: tuple[str, str], tmp_path: Path) -> None:
    content, said = case
    (tmp_path / "plan.yaml").write_text(content)
    with pytest.raises(InputError, match=said):
        read(tmp_path / "plan.yaml")


def test_a_job_that_stands_in_two_waves_is_refused(tmp_path: Path) -> None:
    twice: Plan = msgspec.structs.replace(PLAN, waves=(*PLAN.waves, *PLAN.waves))
    (tmp_path / "plan.yaml").write_text(text(twice))
    with pytest.raises(InputError, match="PyTorchJob team/bert is listed twice"):
        read(tmp_path / "plan.yaml")


def test_two_waves_of_one_name_are_refused(tmp_path: Path) -> None:
    [wave] = PLAN.waves
    twice: Plan = msgspec.structs.replace(PLAN, waves=(wave, msgspec.structs.replace(wave, jobs=())))
    (tmp_path / "plan.yaml").write_text(text(twice))
    with pytest.raises(InputError, match=f"two waves are called {wave.name}"):
        read(tmp_path / "plan.yaml")


def test_a_plan_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_bytes(b"id: \xff\xfe")
    with pytest.raises(InputError, match=r"--plan .*plan.yaml: "):
        read(tmp_path / "plan.yaml")


def test_a_wave_that_the_plan_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="--wave complex: the plan has no such wave"):
        chosen(PLAN, ["complex"])

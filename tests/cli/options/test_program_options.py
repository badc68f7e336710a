"""The options of a program, as they were written on the command line."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from shunter.cli.options.program_options import ProgramOptions

HINTS = get_type_hints(ProgramOptions, include_extras=True)
# Within Annotated typer takes the first name for a default.
DECLARED = {field: (hint.__metadata__[0].default, *hint.__metadata__[0].param_decls) for field, hint in HINTS.items()}
OTHER: dict[type, Any] = {str: "x", bool: True, int: 7, list: ["x"], type(None): 7}


@pytest.mark.parametrize("field", DECLARED)
def test_a_given_option_is_named_as_it_is_declared(field: str) -> None:
    """A message that names another one sends the user to an option that there is not."""
    value = OTHER[type(ProgramOptions._field_defaults[field])]
    [named] = ProgramOptions(**{field: value}).given()
    assert named in DECLARED[field]


def test_what_has_its_default_was_not_given() -> None:
    assert ProgramOptions().given() == []

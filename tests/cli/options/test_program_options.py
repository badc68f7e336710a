"""The options of groups, as they were written on the command line."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from shunter.cli.options.option_groups import given_options
from shunter.cli.options.program_options import ProgramOptions
from shunter.cli.options.size_options import NameOptions

FIELDS = [(group, field) for group in (ProgramOptions, NameOptions) for field in group._fields]
OTHER: dict[type, Any] = {str: "x", bool: True, int: 7, list: ["x"], type(None): 7}


@pytest.mark.parametrize(("group", "field"), FIELDS)
def test_a_given_option_is_named_as_it_is_declared(group: Any, field: str) -> None:
    """A message that names another one sends the user to an option that there is not."""
    default = group._field_defaults[field]
    value = not default if isinstance(default, bool) else OTHER[type(default)]
    [named] = given_options(group(**{field: value}))
    option = get_type_hints(group, include_extras=True)[field].__metadata__[0]
    # Within Annotated typer takes the first name for a default.
    assert named in (option.default, *option.param_decls)


def test_what_has_its_default_was_not_given() -> None:
    assert given_options(ProgramOptions()) == given_options(NameOptions()) == []

"""`-o` of verbs that print results as a table or as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Form(StrEnum):
    """Values of `--output`."""

    table = "table"
    json = "json"


FormOption = Annotated[Form, typer.Option("-o", "--output", help="table or json.")]

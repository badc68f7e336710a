"""The argument that names a job."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.options.completion import job_names

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", autocompletion=job_names, help="Name of the job, or KIND/NAME when two kinds share it.")
]

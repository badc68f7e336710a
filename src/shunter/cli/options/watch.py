"""The option that redraws what a command shows."""

from __future__ import annotations

from typing import Annotated

import typer

WatchOption = Annotated[bool, typer.Option("-w", "--watch", help="Redraw every few seconds until Ctrl-C.")]

"""The class of all commands: an option that is not there is named with the one that is meant."""

from __future__ import annotations

import difflib
from typing import Any

from typer.core import TyperCommand

from shunter.errors import InputError


class Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return list(super().parse_args(ctx, args))
        except Exception as error:
            # Typer brings a click of its own along, whose exceptions have no public name.
            if type(error).__name__ != "NoSuchOption":
                raise
            missing: str = error.option_name  # type: ignore[attr-defined]
            options = [option for parameter in self.get_params(ctx) for option in parameter.opts if option.startswith("--")]
            close = difflib.get_close_matches(missing, options, n=1)
            remedy = f"Did you mean {close[0]}?" if close else f"See them: {ctx.command_path} --help"
            raise InputError(f"no option {missing}.", remedy) from None

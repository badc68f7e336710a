"""The whole command as `typer utils docs` finds it."""

from typing import Any

from shunter.cli.main import Verbs, application


class EveryVerb(Verbs):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.table[cmd_name].load(cmd_name)


app = application(EveryVerb)

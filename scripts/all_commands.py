"""The whole command as `typer utils docs` finds it."""

from typing import Any

from shunter.cli.main import Verbs, application
from shunter.cli.options.lazy_group import LazyGroup


class EveryVerb(Verbs):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = self.table[cmd_name].load(cmd_name)
        if isinstance(found, LazyGroup):
            found.commands = {name: entry.load(name) for name, entry in found.table.items()}
        return found


app = application(EveryVerb)

"""The whole command as `typer utils docs` finds it."""

from shunter.cli.main import application

app = application()

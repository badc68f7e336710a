"""What a program makes of a value that it reads of its pod, in a word."""

from __future__ import annotations

from shunter.migrate.conversion.commands.reads import Read

KNOWN = {"HOSTNAME": "host name", "POD_NAME": "POD_NAME", "MASTER_ADDR": "MASTER_ADDR", "TF_CONFIG": "TF_CONFIG"}
SHOWS, DECIDES, LAST = "shows", "decides", "takes the last number"


def kinds_of(found: list[Read]) -> list[str]:
    return [LAST if read.takes_last_number else DECIDES if read.decides else SHOWS for read in found]

"""What sshd and ssh are asked to do, by their command lines and sshd's configuration. Pure.

Where nothing is said, what Kubeflow Trainer's images for MPI are configured with counts: port 2222, the job's own keys, and hosts
that are not asked who they are.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PORT = 2222
PRIVATE_KEY, AUTHORIZED_KEYS = "id_rsa", "authorized_keys"
USER = "mpiuser"

_SERVER_VALUES = "CEbcfghkopu"
"""Options of sshd that take a value."""
_CLIENT_VALUES = "BbcDEeFIiJLlmOoPpQRSWw"
"""Options of ssh that take a value."""


class Problem(Exception):
    """What is wrong, in the words of OpenSSH where it has some."""


class ServerSettings(NamedTuple):
    """What sshd goes by. A key in any of the files `authorized_keys` may log in."""

    port: int
    host_keys: tuple[Path, ...]
    authorized_keys: tuple[Path, ...]
    forced_command: str = ""
    """Run in place of what is asked for, which it finds in SSH_ORIGINAL_COMMAND."""


class ClientSettings(NamedTuple):
    """Where ssh connects to, as whom, and what it runs there."""

    host: str
    command: str
    """Empty for a shell."""
    port: int
    user: str
    key: Path
    attempts: int
    """How often connecting is tried, a second apart."""
    connect_seconds: float
    """How long one attempt may take; 0 for as long as the system tries."""
    has_input: bool


def configuration_file(arguments: Iterable[str]) -> Path | None:
    """The configuration file of sshd's command line."""
    return next((Path(value) for flag, value in _options(list(arguments), _SERVER_VALUES) if flag == "f"), None)


def server_settings(arguments: Iterable[str], configuration: str, keys: Path) -> ServerSettings:
    """`configuration` is the file's text, `keys` the directory with the job's keys. Raises Problem."""
    said: list[tuple[str, str]] = []
    for flag, value in _options(list(arguments), _SERVER_VALUES):
        said += {"p": [("port", value)], "h": [("hostkey", value)], "o": list(_configured(value))}.get(flag, [])
    said += _configured(configuration)
    host_keys = [Path(value) for keyword, value in said if keyword == "hostkey"] or [keys / PRIVATE_KEY]
    authorized = next((value for keyword, value in said if keyword == "authorizedkeysfile"), str(keys / AUTHORIZED_KEYS))
    home = keys.parent
    return ServerSettings(
        _number("Port", next((value for keyword, value in said if keyword == "port"), str(PORT))),
        tuple(host_keys),
        tuple(home / file.replace("%h", str(home)).replace("%u", USER) for file in shlex.split(authorized)),
        next((value for keyword, value in said if keyword == "forcecommand" and value != "none"), ""),
    )


def client_settings(arguments: list[str], keys: Path) -> ClientSettings:
    """`keys` is the directory with the job's keys. Raises Problem."""
    said: dict[str, str] = {}
    words = list(arguments)
    target = ""
    # Options may stand before and after the host; what follows them is the command.
    while words:
        options, words = _leading_options(words, _CLIENT_VALUES)
        for flag, value in options:
            keyword = {"p": "port", "l": "user", "i": "identityfile", "n": "stdinnull"}.get(flag)
            for name, setting in [(keyword, value)] if keyword else _configured(value) if flag == "o" else ():
                said.setdefault(name, setting)
        if target or not words:
            break
        target, *words = words
    if not target:
        raise Problem("no host is given")
    user, _, host = target.rpartition("@")
    return ClientSettings(
        host,
        " ".join(words),
        _number("Port", said.get("port", str(PORT))),
        user or said.get("user", USER),
        Path(said.get("identityfile", keys / PRIVATE_KEY)),
        _number("ConnectionAttempts", said.get("connectionattempts", "1")),
        _number("ConnectTimeout", said.get("connecttimeout", "0")),
        "stdinnull" not in said,
    )


def _configured(text: str) -> Iterator[tuple[str, str]]:
    """Keywords in lower case and their values, up to what is for some connections only."""
    for line in text.splitlines():
        keyword, _, value = line.strip().replace("=", " ", 1).replace("\t", " ").partition(" ")
        if keyword.lower() == "match":
            return
        if keyword and not keyword.startswith("#"):
            value = value.strip()
            yield keyword.lower(), value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _options(words: list[str], with_value: str) -> list[tuple[str, str]]:
    return _leading_options(words, with_value)[0]


def _leading_options(words: list[str], with_value: str) -> tuple[list[tuple[str, str]], list[str]]:
    """(letter, value) of the options at the start, and the words after them. Raises Problem."""
    options: list[tuple[str, str]] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        letters = rest.pop(0)[1:]
        if letters == "-":
            break
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter not in with_value:
                options.append((letter, ""))
                continue
            if not letters and not rest:
                raise Problem(f"option requires an argument -- {letter}")
            options.append((letter, letters or rest.pop(0)))
            letters = ""
    return options, rest


def _number(name: str, value: str) -> int:
    if not value.isdecimal():
        raise Problem(f"{name} {value!r} is no number")
    return int(value)

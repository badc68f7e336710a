"""What sshd and ssh understand of their command lines and of sshd's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cluster.node.ssh.settings import (
    ClientSettings,
    Problem,
    ServerSettings,
    client_settings,
    configuration_file,
    server_settings,
)

HOME = Path("/home/mpiuser")
KEYS = HOME / ".ssh"
OF_THE_JOB = ServerSettings(2222, (KEYS / "id_rsa",), (KEYS / "authorized_keys",))
UPSTREAM = """
PidFile /home/mpiuser/sshd.pid
HostKey /home/mpiuser/.ssh/id_rsa
StrictModes no
Port 2222
"""


@pytest.mark.parametrize(
    ("line", "configuration", "settings"),
    [
        ("-De", "", OF_THE_JOB),
        ("-De -f /home/mpiuser/.sshd_config", UPSTREAM, OF_THE_JOB),
        ("-D", "Port 22\nport 23\n", OF_THE_JOB._replace(port=22)),
        ("-D -p 24", "Port 22", OF_THE_JOB._replace(port=24)),
        ("-Dp24", "", OF_THE_JOB._replace(port=24)),
        ("-o Port=25 -D", "Port 22", OF_THE_JOB._replace(port=25)),
        ("-D", "  port=26\n#Port 22", OF_THE_JOB._replace(port=26)),
        ("-D", "Match User root\nPort 27", OF_THE_JOB),
        ("-D", 'ForceCommand . /e; eval "$SSH"', OF_THE_JOB._replace(forced_command='. /e; eval "$SSH"')),
        ("-D", "ForceCommand none", OF_THE_JOB),
        ("-D", "HostKey /a\nHostKey /b", OF_THE_JOB._replace(host_keys=(Path("/a"), Path("/b")))),
        (
            "-D",
            "AuthorizedKeysFile .ssh/mine %h/theirs /etc/keys/%u",
            OF_THE_JOB._replace(authorized_keys=(KEYS / "mine", HOME / "theirs", Path("/etc/keys/mpiuser"))),
        ),
    ],
)
def test_sshd_is_configured_as_openssh_is(line: str, configuration: str, settings: ServerSettings) -> None:
    assert server_settings(line.split(), configuration, KEYS) == settings


@pytest.mark.parametrize(
    ("line", "file"), [("-De -f /c", Path("/c")), ("-f/c", Path("/c")), ("-Df /c -e", Path("/c")), ("-p 22", None)]
)
def test_sshd_reads_the_configuration_that_it_is_given(line: str, file: Path | None) -> None:
    assert configuration_file(line.split()) == file


TRUE = ClientSettings("node-0.j", "true", 2222, "mpiuser", KEYS / "id_rsa", 1, 0, True)


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("node-0.j true", TRUE),
        ("-x -o ConnectionAttempts=10 node-0.j true", TRUE._replace(attempts=10)),
        ("-o ConnectTimeout=5 -n node-0.j true", TRUE._replace(connect_seconds=5, has_input=False)),
        ("-p 22 -o Port=23 root@node-0.j true", TRUE._replace(port=22, user="root")),
        ("-qlroot -i /key node-0.j true", TRUE._replace(user="root", key=Path("/key"))),
        ("-o StrictHostKeyChecking=no node-0.j -T true", TRUE),
        ("node-0.j", TRUE._replace(command="")),
        ("node-0.j -- sh -c true -p 1", TRUE._replace(command="sh -c true -p 1")),
        ("node-0.j PATH=/bin ; prted --x -1", TRUE._replace(command="PATH=/bin ; prted --x -1")),
    ],
)
def test_ssh_takes_options_around_the_host_and_then_a_command(line: str, settings: ClientSettings) -> None:
    assert client_settings(line.split(), KEYS) == settings


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "no host is given"),
        ("-x", "no host is given"),
        ("node-0.j -p", "option requires an argument -- p"),
        ("-o ConnectionAttempts=many h", "ConnectionAttempts 'many' is no number"),
    ],
)
def test_what_ssh_cannot_do_is_named(line: str, complaint: str) -> None:
    with pytest.raises(Problem, match=complaint):
        client_settings(line.split(), KEYS)

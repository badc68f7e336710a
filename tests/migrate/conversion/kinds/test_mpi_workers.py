"""Which commands of MPI workers give way to the runtime's ssh server without a loss."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.kinds.mpi_workers import only_waits

SCRIPTS = [
    "sleep infinity",
    "exec /usr/sbin/sshd -De",
    "mkdir -p /run/sshd && exec /usr/sbin/sshd -D",
    "[ -d /var/run/sshd ] || mkdir -p /var/run/sshd; chmod 0755 /run/sshd; exec /usr/sbin/sshd -D -p 2222 2>&1",
    "while true; do sleep 3600; done",
    "trap : TERM INT; sleep infinity & wait",
    "set -e; ssh-keygen -A > /dev/null; service ssh start; tail -f /dev/null",
    "sed -i s/#PermitRootLogin/PermitRootLogin/ /etc/ssh/sshd_config\necho UseDNS no >> /etc/ssh/sshd_config\nexec sshd -De",
    "trap '' HUP; trap -- - INT; trap 'exit 0' TERM; sleep infinity & wait",
    "sed -ri -e 's@session\\s*required@session optional@g' -e '/^Port/d' /etc/ssh/sshd_config; exec /usr/sbin/sshd -D",
    "mkdir -m 755 -p /run/sshd /var/run/sshd/; chown -R root:root /run/sshd; chmod u+x,g-w /run/sshd; sleep infinity",
    "rm -f /etc/ssh/ssh_host_*; ssh-keygen -A; sleep infinity",
    "echo worker $HOSTNAME is ready; export NCCL_DEBUG=INFO; sleep 365d",
]
WORK = [
    "mount-data && sleep infinity",
    "mkdir -p /data /run/sshd && sleep infinity",
    "cat /etc/hosts > /shared/hosts; sleep infinity",
    "echo $(mount-data); sleep infinity",
    "sed -i s/a/b/ /app/train.py; exec /usr/sbin/sshd -De",
    "ulimit -l unlimited; exec /usr/sbin/sshd -De",
    "prepare() { curl -O https://example.org/data; }; prepare; sleep infinity",
    "service nv-hostengine start; sleep infinity",
    "echo done",
    "chmod 600 $KEYS; sleep infinity",
    "mkdir -p /run/sshd-data; sleep infinity",
    "trap 'cp -r /tmp/out /data/' EXIT; sleep infinity & wait",
    "trap 'exit 0; cp -r /tmp/out /data/' EXIT; sleep infinity",
    'trap "$AT_END" EXIT; sleep infinity',
    "rm -rf data /etc/ssh/x; sleep infinity",
    "mkdir -p data /run/sshd; sleep infinity",
    "mkdir -p /run/sshd/../../data; sleep infinity",
    "rm -rf /etc/ssh/{a,../../data}; sleep infinity",
    "touch -r data /etc/ssh/x; sleep infinity",
    "chmod -R 755 $DATA /run/sshd; sleep infinity",
    "echo a > /etc/ssh/../data; sleep infinity",
    "sed -i 's/a/cp b c/e' /etc/ssh/sshd_config; sleep infinity",
    "sed -n 's/a/b/w /data/out' /etc/ssh/sshd_config; sleep infinity",
    "sed -i -f edits /etc/ssh/sshd_config; sleep infinity",
    "ssh-keygen -A -f /data; sleep infinity",
    "echo <(python a.py); sleep inf",
    "echo >(python a.py); sleep inf",
]


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize(
    "shell", [["bash", "-c"], ["/bin/sh", "-ec"], ["bash", "-l", "-c"], ["tini", "--", "sh", "-c"]], ids=" ".join
)
def test_a_shell_that_prepares_ssh_and_waits_only_waits(shell: list[str], text: str) -> None:
    assert only_waits({"command": shell, "args": [text]})


@pytest.mark.parametrize("text", WORK)
def test_a_shell_that_does_something_else_works(text: str) -> None:
    assert not only_waits({"command": ["bash", "-c", text]})


@pytest.mark.parametrize(
    ("container", "waits"),
    [
        ({"command": ["/usr/sbin/sshd", "-De"]}, True),
        ({"command": ["sleep"], "args": ["365d"]}, True),
        ({"command": ["tini", "--", "sleep", "infinity"]}, True),
        ({"command": ["python", "worker.py"]}, False),
        ({"command": ["bash", "/opt/worker.sh"]}, False),
        ({"command": ["bash"]}, False),
        ({}, False),
    ],
)
def test_a_program_without_a_shell(container: Json, waits: bool) -> None:
    assert only_waits(container) is waits

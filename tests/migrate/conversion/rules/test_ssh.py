"""Where v2 has its keys for ssh, and the command by which Open MPI calls it."""

from __future__ import annotations

import shlex

from migrate.conversion.rules.test_indirect_reads import converted
from shunter.migrate.conversion.rules import ssh


def test_a_mount_where_ssh_has_its_keys_blocks() -> None:
    volumes = {"volumes": [{"name": "key", "secret": {"secretName": "git"}}]}
    for path, blocks in (("/root/.ssh/", True), ("/etc/mpi-ssh", True), ("/keys", False)):
        found = converted(["pi"], "MPIJob", volumes, volumeMounts=[{"name": "key", "mountPath": path}]).findings
        assert any(finding.topic.id == "MPI017" and finding.is_blocking for finding in found) is blocks, path


def test_open_mpi_takes_our_ssh_for_one_command() -> None:
    """It splits the variable at colons into commands to try one after the other, and a command at spaces."""
    assert ":" not in ssh.CLIENT
    assert shlex.split(ssh.CLIENT) == ssh.CLIENT.split(" ")

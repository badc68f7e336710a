"""Programs that come into the nodes by ssh are told of; packages, variables and other machines are not."""

from __future__ import annotations

import pytest

from migrate.rules.test_indirect_reads import python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def lines_told_of(command: list[str]) -> list[str]:
    """Of a launcher of mpi-operator, whose pods are run-launcher and run-worker-0."""
    roles: Json = {"Launcher": command, "Worker": ["/usr/sbin/sshd", "-De"]}
    specs: Json = {
        role: {"replicas": 1, "template": {"spec": {"containers": [{"name": "mpi", "image": "train:1", "command": words}]}}}
        for role, words in roles.items()
    }
    metadata = {"name": "run", "namespace": "team"}
    job = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": {"mpiReplicaSpecs": specs}}
    findings = convert(SourceObject(job, "job.yaml"), Options()).findings
    return [one.message.partition(" starts ssh")[0] for one in findings if one.topic.id == "HOST026"]


@pytest.mark.parametrize(
    "text",
    [
        "ssh $h nvidia-smi",
        "for h in $(cut -d' ' -f1 /etc/mpi/hostfile); do ssh $h hostname; done",
        "if ssh $h; then echo up; fi",
        "while ! ssh $h true; do sleep 1; done",
        "test -f a && /usr/bin/ssh -p 22 run-worker-0.run ls",
        "ssh mpiuser@run-worker-0.run.team.svc.cluster.local ls",
        "ssh storage.example.org ls; ssh run-worker-0 ls",
        'ssh -i /keys/storage.example.org "$h" ls',
        "ssh worker-$i.example.org ls",
        "scp out.bin $h:/tmp",
        "scp backup@storage.example.org:/x $h:/x",
        "sftp -b commands run-worker-0.run",
        "x=$(ssh $h cat /tmp/x)",
        "cut -f1 hosts | xargs ssh -n",
        "cut -f1 hosts | xargs -n1 ssh -n",
        "xargs -a hosts -P 4 -I {} ssh {} ls",
        "timeout 5 ssh $h ls",
        "nohup ssh $h ls &",
        "LC_ALL=C ssh $h ls",
        "sudo -u mpiuser ssh $h ls",
        "env -u DISPLAY TERM=dumb ssh $h ls",
        "pdsh -w $hosts nvidia-smi",
        "parallel -a hosts ssh -n {} ls",
    ],
)
def test_a_shell_that_reaches_nodes_is_told_of(text: str) -> None:
    assert lines_told_of(shell(f"{text}\nmpirun -n 2 python t.py")) == [repr(text)]


def test_a_command_that_goes_on_in_another_line_is_told_of() -> None:
    assert lines_told_of(shell("test -f a && \\\n  ssh -p 22 \\\n  $h ls")) == ["'ssh -p 22 \\\\'"]


@pytest.mark.parametrize(
    "text",
    [
        "apt-get install -y \\\n  ssh rsync",
        "apt-get install -y \\\n  curl \\\n  ssh \\\n  rsync",
        "packages=(ssh rsync)",
        "ssh -V",
        "cat packages | xargs -n1 apt-get install ssh",
        "timeout 5 echo ssh $h",
        "timeout 5 ssh host.example.org ls",
        "# ssh $h does not work here",
        "scp -r out backup@storage.example.org:/x",
        "scp -P 22 -i key $files backup@storage.example.org:/x",
        "scp -r \\\n  out storage.example.org:/x",
        "ssh host.example.org",
        "ssh -4 -p 22 -o BatchMode=yes $user@host.example.org ls $h",
        "ssh 'host.example.org' ls && ssh ssh://10.0.0.1:22 ls",
        "sftp backup@10.0.0.1:/x",
    ],
)
def test_a_shell_that_reaches_none_is_not(text: str) -> None:
    assert lines_told_of(shell(f"{text}\nmpirun -n 2 python t.py")) == []


@pytest.mark.parametrize("use", ["$reach $h ls", 'for h in a b; do "${reach}" $h ls; done', "nohup $reach $h ls &"])
def test_a_command_that_a_shell_keeps_in_a_variable_is_told_of_where_it_is_run(use: str) -> None:
    assert lines_told_of(shell(f"reach='ssh -p 22'\n{use}")) == ["\"reach='ssh -p 22'\""]
    assert lines_told_of(shell("export OMPI_MCA_plm_rsh_agent='ssh -p 22'\nmpirun -n 2 python t.py")) == []
    assert lines_told_of(shell(f"reach='ssh host.example.org'\n{use}")) == []


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(['ssh', host, 'ls'])",
        "subprocess.check_output(args=['ssh', '-p', '22', f'{host}.example.org', 'ls'])",
        "check_call(['/usr/bin/ssh', job.host, 'ls'])",
        "Popen(('ssh', 'run-worker-0.run', 'ls'))",
        "os.execvp('ssh', ['ssh', host])",
        "await asyncio.create_subprocess_exec('ssh', *options, host)",
        "import paramiko",
        "command = ['ssh', host, 'ls']",
        "command = ['/usr/bin/ssh', '-p', '22', 'run-worker-0.run']",
        "command = ('ssh', host)",
        "os.system('ssh ' + host)",
        "os.system('ssh %s ls' % host)",
        "subprocess.run(f'ssh {host} ls', shell=True)",
        "subprocess.check_output('ssh run-worker-0.run ls', shell=True)",
    ],
)
def test_python_that_reaches_nodes_is_told_of(text: str) -> None:
    assert lines_told_of(python(f"{text}\ntrain()")) == [repr(text)]


@pytest.mark.parametrize(
    "text",
    [
        "parser.add_argument('--launcher', choices=['ssh', 'slurm'])",
        "ssh = launchers['ssh']",
        "ssh  = connect('ssh', host)",
        "if ssh and host: train()",
        "subprocess.run(['ssh', '-p', '22', 'host.example.org', 'ls'])",
        "os.execvp('ssh', ['ssh', 'host.example.org'])",
        "from lightning import fabric",
        "packages = ['ssh', 'rsync']",
        "if kind in ('ssh', 'slurm'): train()",
        "os.system('ssh host.example.org ls')",
        "os.system('ssh-keygen -A')",
    ],
)
def test_python_that_reaches_none_is_not(text: str) -> None:
    assert lines_told_of(python(f"{text}\ntrain()")) == []

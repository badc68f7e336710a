"""Programs that come into the nodes by ssh are told of; packages, variables and other machines are not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from migrate.conversion.rules.test_indirect_reads import python, shell
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def lines_told_of(command: list[str], env: Sequence[Json] = ()) -> list[str]:
    """Of a launcher of mpi-operator, whose pods are run-launcher and run-worker-0."""
    roles: Json = {"Launcher": command, "Worker": ["/usr/sbin/sshd", "-De"]}
    specs: Json = {
        role: {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "mpi", "image": "train:1", "command": words, "env": [*env]}]}},
        }
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
        "for h in a.example.org run-worker-0; do ssh $h hostname; done",
        "h=a.example.org; read h < hosts; ssh $h hostname",
        '[ -n "$h" ] || h=a.example.org; ssh $h ls',
        'if [ -z "$h" ]; then h=a.example.org; fi; ssh $h ls',
        "python x.py --h=a.example.org; ssh $h ls",
        "echo 'h=a.example.org'; ssh $h ls",
        "h=a.example.org; . /etc/env.sh; ssh $h ls",
        "h=a.example.org; select h in $HOSTS; do ssh $h ls; done",
        "h=a.example.org; getopts h: h; ssh $h ls",
        "h=a.example.org; declare -n r=h; r=$1; ssh $h ls",
        "h=a.example.org; h+=.$SUB; ssh $h ls",
        'h="a.example.org $X"; ssh $h ls',
        "h=a.example.org | true; ssh $h ls",
        "(h=a.example.org); ssh $h ls",
        "h=a.example.org; $SET h; ssh $h ls",
        "h=a.example.org; bash -c 'true; ssh $h ls'",
        "h=a.example.org; ssh ${h:=run-worker-0} ls",
        "for h in a.example.org; do true; done; ssh $h ls",
        "for h in a.example.org; do for h in run-worker-0; do true; done; ssh $h ls; done",
        "for h in a.example.org; do eval $X; ssh $h ls; done",
        "echo for h in a.example.org; do ssh $h ls; done",
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
        "bash -c 'ssh $h ls'",
        "su mpiuser -c 'ssh $h ls'",
        "echo 'ssh $h ls' | sh",
        'reach() { ssh "$1" ls; }; reach node1',
        "trap 'ssh $h pkill python' EXIT",
        "< hosts xargs -P8 -I% sh -c 'ssh % ls'",
        "ionice -c2 ssh $h ls",
        "watch -n 5 ssh $h nvidia-smi",
        "watch -n 5 'ssh $h nvidia-smi'",
        "coproc ssh $h nvidia-smi",
        "coproc { ssh $h nvidia-smi; }",
        "coproc W { ssh $h cat; }",
        "RSYNC='rsync -a'; $RSYNC run-worker-0:/x .",
        'RSYNC=(rsync -a); "${RSYNC[@]}" $h:/x .',
        "COPY='scp -q'; COPY2=$COPY; $COPY run-worker-0:/x .",
        "ALL='pdsh -R ssh'; $ALL -w $hosts nvidia-smi",
        "SSH=ssh; $SSH run-worker-0 ls",
        "rsync -e ssh -az /data/ $h:/data/",
        "rsync -avze 'ssh -p 22' /data/ \"mpiuser@${h}:/data/\"",
        "rsync -a run-worker-0.run:/out /out",
    ],
)
def test_a_shell_that_reaches_nodes_is_told_of(text: str) -> None:
    assert lines_told_of(shell(f"{text}\nmpirun -n 2 python t.py")) == [repr(text)]


@pytest.mark.parametrize(
    "before", ["# h=a.example.org", "h=a.example.org; while read -r \\\nh; do", "cat <<E\nfor h in a.example.org; do\nE"]
)
def test_a_line_before_gives_a_variable_no_certain_host(before: str) -> None:
    assert lines_told_of(shell(f"{before}\nssh $h ls")) == ["'ssh $h ls'"]


def test_a_variable_of_the_container_is_no_certain_host() -> None:
    assert lines_told_of(shell("h=a.example.org; ssh $h ls"), env=[{"name": "h", "value": "run-worker-0"}]) != []


def test_a_command_that_goes_on_in_another_line_is_told_of() -> None:
    assert lines_told_of(shell("test -f a && \\\n  ssh -p 22 \\\n  $h ls")) == ["'ssh -p 22 \\\\'"]


@pytest.mark.parametrize(
    "text",
    [
        "apt-get install -y \\\n  ssh rsync",
        "apt-get install -y \\\n  curl \\\n  ssh \\\n  rsync",
        "packages=(ssh rsync)",
        "cat <<E\nssh $h ls\nE",
        "echo 'usage:\nssh HOST COMMAND'",
        "true --rsh 'ssh -p 22'",
        "ssh -V",
        "rsync -a /data/ /local/",
        "RSYNC='rsync -a'; $RSYNC /data/ /local/",
        "RSYNC='rsync -a'; $RSYNC backup@storage.example.org:/x /x",
        "SSH='ssh -q'; $SSH host.example.org ls",
        "coproc { nvidia-smi; }; echo ssh $h",
        "rsync -a ${DATA:-/data} $LOCAL",
        "rsync -a rsync://$h/data $h::data /local",
        "rsync -e 'ssh -i key' -a backup@storage.example.org:/x /x",
        "apt-get install rsync ssh",
        "watch nvidia-smi",
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
        "for host in a.example.org b.example.org; do ssh $host ls; done",
        "for h in a.example.org; do\n  if true; then ssh $h ls; fi\ndone",
        "h=a.example.org; case $X in a) ssh $h ls;; esac",
        'STORE=backup@storage.example.org\nscp -r out "${STORE}:/x"\nssh $STORE ls',
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
        "subprocess.run(['rsync', '-a', '/data/', f'{host}:/data/'])",
        "await asyncio.create_subprocess_exec('ssh', *options, host)",
        "import paramiko",
        "command = ['ssh', host, 'ls']",
        "command = ['/usr/bin/ssh', '-p', '22', 'run-worker-0.run']",
        "command = ('ssh', host)",
        "os.system('ssh ' + host)",
        "for host in ['a.example.org', 'run-worker-0']: os.system(f'ssh {host} ls')",
        "for host in [h, 'a.example.org']: subprocess.run(['ssh', host, 'ls'])",
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
        "subprocess.run(['rsync', '-a', source, target])",
        "for host in ['a.example.org', 'b.example.org']: os.system(f'ssh {host} ls')",
        "for host in ('a.example.org', '10.0.0.1'): subprocess.run(['ssh', host, 'ls'])",
        "hosts = ['a.example.org']\nfor host in hosts:\n    command = ['ssh', host, 'ls']\n    subprocess.run(command)",
    ],
)
def test_python_that_reaches_none_is_not(text: str) -> None:
    assert lines_told_of(python(f"{text}\ntrain()")) == []


@pytest.mark.parametrize(
    ("code", "line"),
    [
        pytest.param(
            "subprocess.run(check=True, args=['ssh', host])", "subprocess.run(check=True, args=['ssh', host])", id="a keyword"
        ),
        pytest.param("subprocess.run(\n    ['ssh',\n     host, 'ls'],\n)", "['ssh',", id="several lines"),
        pytest.param(
            "REACH = ['ssh', '-p', '22']\nsubprocess.run(REACH + [host])", "REACH = ['ssh', '-p', '22']", id="a constant"
        ),
        pytest.param("reach = ['ssh']\nreach.append(host)\nrun(reach)", "reach = ['ssh']", id="a list that grows"),
        pytest.param("reach = 'ssh ' + host\nos.system(reach)", "reach = 'ssh ' + host", id="a text in a variable"),
        pytest.param(
            "SSH = 'ssh'\nsubprocess.run([SSH, '-n', host])", "subprocess.run([SSH, '-n', host])", id="a word in a constant"
        ),
        pytest.param("os.system(f'ssh -p {port} {host} ls')", "os.system(f'ssh -p {port} {host} ls')", id="an f-string"),
        pytest.param("os.system('ssh {} ls'.format(host))", "os.system('ssh {} ls'.format(host))", id="a format"),
        pytest.param("Popen(shlex.split('ssh %s ls' % host))", "Popen(shlex.split('ssh %s ls' % host))", id="shlex.split"),
        pytest.param("Popen(f'ssh {host} ls'.split())", "Popen(f'ssh {host} ls'.split())", id="split"),
        pytest.param("run(['bash', '-c', f'cd /x && ssh {h} ls'])", "run(['bash', '-c', f'cd /x && ssh {h} ls'])", id="a shell"),
        pytest.param("run(['timeout', '5', 'ssh', host])", "run(['timeout', '5', 'ssh', host])", id="behind another program"),
        pytest.param(
            "def sh(line):\n    subprocess.run(line, shell=True)\nsh(f'ssh {host} ls')", "sh(f'ssh {host} ls')", id="a function"
        ),
        pytest.param("sp.run(['ssh', *options, host])", "sp.run(['ssh', *options, host])", id="a starred list"),
        pytest.param("os.execlp('ssh', 'ssh', host, 'ls')", "os.execlp('ssh', 'ssh', host, 'ls')", id="execlp"),
        pytest.param(
            "os.system('for h in a b; do ssh $h ls; done')",
            "os.system('for h in a b; do ssh $h ls; done')",
            id="a loop of a shell",
        ),
        pytest.param("import paramiko\nparamiko.Transport((host, 22))", "import paramiko", id="a transport"),
        pytest.param(
            "import paramiko\nparamiko.SSHClient().connect('host.example.org')\ndef reach(c):\n    c.connect(host)",
            "import paramiko",
            id="a library beside another machine",
        ),
        pytest.param(
            "import importlib\np = importlib.import_module('paramiko')\np.SSHClient().connect('a.example.org')\np.Transport(x)",
            "p = importlib.import_module('paramiko')",
            id="a library that is imported by name",
        ),
        pytest.param("jobs.append(['ssh', host])", "jobs.append(['ssh', host])", id="a list handed to a function"),
        pytest.param(
            "def start(words):\n    run(words)\nstart(('ssh', host))", "start(('ssh', host))", id="a tuple that a function runs"
        ),
        pytest.param("subprocess.run(['ssh', '-p', 22, host])", "subprocess.run(['ssh', '-p', 22, host])", id="a number"),
        pytest.param("from pexpect import pxssh", "from pexpect import pxssh", id="pxssh"),
        pytest.param("import asyncssh as a\na.connect(host)", "import asyncssh as a", id="a library under another name"),
        pytest.param("print 'old'\nos.system('ssh %s' % host)", "os.system('ssh %s' % host)", id="code of Python 2"),
    ],
)
def test_python_is_read_by_what_it_does(code: str, line: str) -> None:
    assert lines_told_of(python(f"{code}\ntrain()")) == [repr(line)]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("# subprocess.run(['ssh', host])", id="a comment"),
        pytest.param(
            '"""Before it was:\n\nssh $h ls\nsubprocess.run([\'ssh\', host])\nos.system(\'ssh \' + host)\n"""', id="a docstring"
        ),
        pytest.param("print('ssh ' + host + ' does not work')", id="a message"),
        pytest.param("HELP = 'ssh $h ls'", id="a text that nothing runs"),
        pytest.param("HOST = 'host.example.org'\nsubprocess.run(['ssh', HOST, 'ls'])", id="another machine in a constant"),
        pytest.param("run(['ssh', 'u@%s' % 'host.example.org'])", id="another machine behind a percent sign"),
        pytest.param("'''\nimport paramiko\n'''", id="an import in a text"),
        pytest.param(
            "import paramiko\nc = paramiko.SSHClient()\nc.connect(hostname='host.example.org')", id="another machine by a library"
        ),
        pytest.param("for name, port in [('ssh', 22), ('http', 80)]: probe(name, port)", id="a table of ports"),
        pytest.param("for name, port in [('ssh', PORT), ('http', 80)]: probe(name, port)", id="a table that is unpacked"),
        pytest.param("checks = [probe(*one) for one in [('ssh', 22)]]\nports = {'a': ('ssh', 2.5)}", id="numbers"),
        pytest.param("NONE = ''\nnames = ['ssh', NONE]", id="an empty text in a name"),
        pytest.param("scheme, rest = 'ssh', url", id="two names at once"),
        pytest.param("print(*('ssh', host))", id="arguments in a tuple"),
        pytest.param("rows.append(('ssh', f'{host}', ok))", id="a row of a table"),
        pytest.param("log.info('tried', ('ssh', host, err))", id="a message of parts"),
        pytest.param("Thread(target=check, args=('ssh', host))", id="arguments of a thread"),
        pytest.param(
            "import paramiko\nt = paramiko.Transport(('sftp.example.org', 22))\nt.connect(None, 'u', pw)\n"
            "s = paramiko.SFTPClient.from_transport(t)",
            id="a transport to another machine",
        ),
        pytest.param(
            "from paramiko import Transport\nat = (HOST, 22)\nHOST = 'sftp.example.org'\nTransport(at)", id="an address"
        ),
        pytest.param(
            "import paramiko, sqlite3\nwith paramiko.SSHClient() as c:\n    c.connect('host.example.org')\n"
            "db = sqlite3.connect(path)",
            id="another machine beside a database",
        ),
        pytest.param(
            "import socket\nfrom fabric import Connection\ns = socket.socket()\ns.connect((h, 80))\nConnection('a.example.org')",
            id="another machine beside a socket",
        ),
        pytest.param("print 'old'\n# os.system('ssh %s' % host)", id="a comment of Python 2"),
    ],
)
def test_python_that_starts_no_ssh_is_not_told_of(code: str) -> None:
    assert lines_told_of(python(f"{code}\ntrain()")) == []


FUNCTIONS = "def run(cmd):\n    subprocess.run(cmd)\ndef fetch(cmd):\n    {0}run(cmd)\ndef push(cmd):\n    {0}run(cmd)\n"


def doubled(first: str) -> str:
    return "\n".join([f"a0 = {first}", *(f"a{n} = a{n - 1} + a{n - 1}" for n in range(1, 27)), "run(a26)"])


@pytest.mark.parametrize(
    ("code", "line"),
    [
        pytest.param(FUNCTIONS.format(""), "run(['ssh', h])", id="parameters of one name"),
        pytest.param(FUNCTIONS.format("cmd = cmd or ['ls']\n    "), "run(['ssh', h])", id="parameters with a default"),
        pytest.param("cmd = cmd or DEFAULT\ncmd = cmd if x else cmd\nrun(cmd)", "run(['ssh', h])", id="a name given itself"),
        pytest.param("x = x + x\nrun(x)", "run(['ssh', h])", id="a name added to itself"),
        pytest.param("x = [*x, *x]\nrun(x)", "run(['ssh', h])", id="a list in itself"),
        pytest.param("x = f'{x} {x}'\nrun(x)", "run(['ssh', h])", id="a text in itself"),
        pytest.param("x = ' '.join(x + x)\nrun(x.split() + x.split())", "run(['ssh', h])", id="words of itself"),
        pytest.param(doubled("'ls ; '"), "run(['ssh', h])", id="a text doubled again and again"),
        pytest.param(doubled("['ssh', h]"), "a0 = ['ssh', h]", id="a list doubled again and again"),
    ],
)
def test_code_whose_names_hold_each_other_is_read_to_its_end(code: str, line: str) -> None:
    assert lines_told_of(python(f"{code}\nrun(['ssh', h])")) == [repr(line)]


def test_a_name_is_read_wherever_a_command_has_it() -> None:
    assert lines_told_of(python("h = 'host.example.org'\nrun(['scp', '-r', f'{h}:a', f'{h}:b'])")) == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("x" + ".add(1)" * 200 + ".append(2)", id="calls of calls of a list"),
        pytest.param("run(x" + ".a" * 600 + ")", id="a long chain of attributes"),
        pytest.param("y = x" + ".a" * 600 + "\nrun(y)", id="a long chain of attributes in a name"),
        pytest.param("x" + ".a" * 600 + " = ['ls']", id="a long target"),
        pytest.param("x" + ".a" * 600 + " += ['ls']", id="a long target that grows"),
        pytest.param("x" + ".a" * 600 + "()", id="a long owner of a function"),
        pytest.param("print('ls'" + " + 'a'" * 600 + ")", id="a long sum"),
        pytest.param("x" + ".a(1)" * 95 + ".append(os.environ['X'" + " + 'a'" * 190 + "])", id="almost too deep"),
    ],
)
def test_expressions_nested_deep_hide_no_other_command(code: str) -> None:
    assert lines_told_of(python(f"{code}\nrun(['ssh', h])")) == ["\"run(['ssh', h])\""]


@pytest.mark.parametrize(
    "shell_words", ["'sh', '-xc'", "'bash', '-euc'", "'/bin/dash', '-o', 'pipefail', '-c'", "'zsh', '-c', '--'"]
)
def test_a_text_that_python_hands_to_a_shell_is_read(shell_words: str) -> None:
    line = f"run([{shell_words}, 'ssh node1'])"
    assert lines_told_of(python(line)) == [repr(line)]


@pytest.mark.parametrize(
    "line",
    [
        "import fabric2",
        "from pssh.clients import ParallelSSHClient",
        "from pexpect import pxssh",
        "from sh import ssh",
        "import sh.ssh",
    ],
)
def test_a_library_in_code_of_python_2_is_told_of(line: str) -> None:
    assert lines_told_of(python(f"print 'old'\n{line}")) == [repr(line)]


@pytest.mark.parametrize(
    "code",
    [
        "hosts = ['a.example.org']\nhosts[0] = x\nfor h in hosts: {}",
        "hosts = ['a.example.org']\nhosts[:] = x\nfor h in hosts: {}",
        "hosts = ['a.example.org']\nhosts.insert(0, x)\nfor h in hosts: {}",
        "hosts = ['a.example.org']\nadd(hosts)\nfor h in hosts: {}",
        "if x:\n    hosts = ['a.example.org']\nfor h in hosts: {}",
        "hosts = ['a.example.org']\nglobals()['hosts'] = x\nfor h in hosts: {}",
        "hosts = ['a.example.org']\nfrom x import *\nfor h in hosts: {}",
        "for h in ['a.example.org']: pass\nsys.modules[__name__].h = x\n{}",
        "for h in ['a.example.org']: pass\nfrom x import h\n{}",
        "for h in ['a.example.org']: pass\ntry: pass\nexcept E as h: {}",
        "for h in ['a.example.org']: pass\nglobals()['h'] = x\n{}",
        "for h in ['a.example.org']: pass\nwith x as h: {}",
        "for h in ['a.example.org']: pass\nx(h := y)\n{}",
        "for h in ['a.example.org']: pass\nmatch x:\n    case [h]: {}",
        "for h in ['a.example.org']: {}\ndef f():\n    global h",
    ],
)
def test_a_loop_whose_hosts_may_be_others_is_told_of(code: str) -> None:
    assert len(lines_told_of(python(code.format("os.system(f'ssh {h} ls')")))) == 1


def test_a_parameter_is_not_the_constant_of_its_name() -> None:
    code = "host = 'host.example.org'\ndef reach(host):\n    subprocess.run(['ssh', host])\nmap(reach, hosts)"
    assert lines_told_of(python(code)) == ["\"subprocess.run(['ssh', host])\""]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ssh $h ls\npython -c 'train()'", "ssh $h ls"),
        ("python - <<'END'\nimport subprocess\nsubprocess.run(['ssh', host])\nEND", "subprocess.run(['ssh', host])"),
        ("mpirun -n 2 python -c \"run(['ssh', host])\"", "mpirun -n 2 python -c \"run(['ssh', host])\""),
        ("python - <<'END'\ndef f():\n  '''\nssh $h ls\n'''\nEND\nssh $h date", "ssh $h date"),
    ],
    ids=["beside code", "a here-document", "behind mpirun", "behind code whose text says so, too"],
)
def test_code_within_a_shell_is_read_as_code(text: str, line: str) -> None:
    assert lines_told_of(shell(text)) == [repr(line)]

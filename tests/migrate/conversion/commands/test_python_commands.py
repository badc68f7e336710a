"""Which commands Python code starts, and which uses of ssh libraries it has."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.commands.python_commands import commands, connection


@pytest.mark.parametrize(
    ("code", "started"),
    [
        pytest.param('subprocess.run(["ssh", "-p", "22", host])', ["ssh -p 22 $"], id="a list with an unknown word"),
        pytest.param('os.system("ssh h ls")', ["ssh h ls"], id="a text for a shell"),
        pytest.param('subprocess.run(f"ssh {h} ls", shell=True)', ["ssh $ ls"], id="an f-string"),
        pytest.param('subprocess.run("ssh {}".format(h), shell=True)', ["ssh $"], id="format"),
        pytest.param('subprocess.run("ssh %s" % h, shell=True)', ["ssh $"], id="percent"),
        pytest.param('subprocess.run(["ssh h ls"], shell=True)', ["ssh h ls"], id="a list of one word that is a whole command"),
        pytest.param('subprocess.run(["bash", "-c", "ssh h"])', ["ssh h"], id="a shell's text"),
        pytest.param('cmd = ["ssh"]; cmd.append(h); subprocess.run(cmd)', ["ssh $"], id="a list that grows"),
        pytest.param('subprocess.run(["dig"] + ["x"])', ["dig x"], id="lists put together"),
        pytest.param('subprocess.check_output("dig +short x".split())', ["dig +short x"], id="a text that is split"),
        pytest.param('subprocess.run(shlex.split("dig x"))', ["dig x"], id="split as a shell does"),
        pytest.param('os.execvp("ssh", ["ssh", h])', ["ssh $"], id="exec replaces the program"),
        pytest.param('os.spawnlp(os.P_WAIT, "ssh", "ssh", h)', ["ssh $"], id="spawn with one word an argument"),
        pytest.param('subprocess.Popen(args=["ssh", h])', ["ssh $"], id="a keyword"),
        pytest.param('asyncio.create_subprocess_exec("ssh", h)', ["ssh $"], id="asyncio"),
        pytest.param('subprocess.run(["ssh", h] if x else ["rsh", h])', ["ssh $", "rsh $"], id="one of two"),
        pytest.param('subprocess.run([*ssh, "x"])', ["$ x"], id="unknown words before a known one"),
        pytest.param('r\u00e9 = "ssh \u00e9"; os.system(r\u00e9)', ["ssh \u00e9"], id="names and texts beyond ASCII"),
        pytest.param('print("ssh h")', [], id="a text that is printed"),
        pytest.param("def f(:", [], id="code that cannot be parsed"),
        pytest.param("", [], id="no code"),
        pytest.param("subprocess.run()", [], id="a call without a command"),
    ],
)
def test_commands_are_told_as_a_shell_would_read_them(code: str, started: list[str]) -> None:
    assert [one.text for one in commands(code) if one.is_run] == started


def test_a_command_is_placed_where_its_first_word_stands() -> None:
    (command,) = [one for one in commands('# \u00e9\nos.system("ssh h")\n') if one.is_run]
    assert command.start == '# \u00e9\nos.system("ssh h")\n'.index('"ssh')


@pytest.mark.parametrize(
    ("code", "hosts"),
    [
        pytest.param('import fabric\nfabric.Connection("h").run("ls")', ("h",), id="a host that is written out"),
        pytest.param('from fabric import Connection as C\nC("h")', (), id="under another name the host is not looked for"),
        pytest.param("import fabric\nfabric.Connection(h)", ("$",), id="a host that is not known"),
        pytest.param("# import fabric", None, id="a comment"),
        pytest.param('fabric.Connection("h")', None, id="nothing is imported"),
        pytest.param("import fabric as (", None, id="code that cannot be parsed"),
    ],
)
def test_a_connection_is_told_with_its_host_only_where_the_library_is_imported(code: str, hosts: tuple[str, ...] | None) -> None:
    found = connection(code, frozenset({"fabric"}), frozenset({"Connection"}))
    assert (found and found.hosts) == hosts

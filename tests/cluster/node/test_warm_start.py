"""A container that starts warm cannot be told from one that starts cold; one that could be starts cold, and says so."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shunter.api.meta import Json
from shunter.api.program_start import ProgramStart
from shunter.api.resources import CORE_EVENTS
from shunter.cluster.node.launch import attempt as files

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e

WARM = "Container started warm"
MODULES = "decimal,multiprocessing.process"
PROBE = """
import faulthandler, gc, json, locale, os, resource, signal, socket, sys, threading, time, traceback
if __name__ != "__main__":
    seen = {"argv": sys.argv, "orig_argv": sys.orig_argv[:1], "path": sys.path, "flags": str(sys.flags), "file": __file__}
    print(json.dumps(seen), flush=True)
    os._exit(0)  # the process is one of multiprocessing, which imports the program first
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
changing = ("FDSize", "SigQ", "HugetlbPages", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
for name in [name for name in status if name.startswith(("Vm", "Rss")) or name in changing]:
    del status[name]
own = {name: repr(value).partition(" object at ")[0] for name, value in vars(sys.modules["__main__"]).items() if name[:2] == "__"}
read = lambda name: open(f"/proc/self/{name}", "rb").read().decode()
streams = [
    (s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.newlines, repr(s), type(s.buffer).__name__)
    for s in (sys.stdin, sys.stdout, sys.stderr)
]
print(json.dumps({
    "environ": list(os.environ.items()), "c environ": sorted(read("environ").split("\\0")), "argv": sys.argv,
    "orig_argv": sys.orig_argv, "path": sys.path, "main": own, "flags": str(sys.flags), "executable": sys.executable,
    "prefix": sys.prefix, "cwd": os.getcwd(), "umask": os.umask(0o22), "status": status, "cmdline": read("cmdline"),
    "comm": read("comm"), "exe": os.readlink("/proc/self/exe"), "cgroup": read("cgroup"),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "signals": {int(number): str(signal.getsignal(number)).partition(" at ")[0] for number in signal.valid_signals()},
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "limits": [resource.getrlimit(number) for number in range(16)],
    "nice": os.getpriority(os.PRIO_PROCESS, 0), "affinity": sorted(os.sched_getaffinity(0)), "oom": read("oom_score_adj"),
    "streams": streams, "threads": [thread.name for thread in threading.enumerate()], "host": socket.gethostname(),
    "bytecode": sys.dont_write_bytecode,
    "groups": os.getgroups(), "session": os.getsid(0) == os.getpid() == os.getpgid(0), "stdin": sys.stdin.read(),
    "ours": sorted(name for name in sys.modules if name.startswith("shunter")), "frames": traceback.format_stack(),
    "faulthandler": faulthandler.is_enabled(),
    "locale": locale.setlocale(locale.LC_ALL), "recursion": sys.getrecursionlimit(), "switches": sys.getswitchinterval(),
    "encodings": [sys.getdefaultencoding(), sys.getfilesystemencoding(), locale.getpreferredencoding()],
    "gc": [gc.isenabled(), gc.get_threshold()], "zone": time.tzname, "options": [sys._xoptions, sys.warnoptions],
    "hooks": [sys.excepthook is sys.__excepthook__, str(sys.gettrace()), str(sys.getprofile()), sys.pycache_prefix],
    "main thread": threading.main_thread().native_id == os.getpid() == threading.get_native_id(), "number": os.getpid(),
    "first": [open(f"/proc/1/{name}", "rb").read().decode() for name in ("cmdline", "comm", "environ", "oom_score_adj")],
    "scheduler": [os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)], "tty": [os.isatty(n) for n in (0, 1, 2)],
    "inheritable": [os.get_inheritable(n) for n in (0, 1, 2)],
    "root": os.listdir("/"), "input": os.readlink("/proc/self/fd/0")[:9],
}), flush=True)
if hasattr(sys.modules["__main__"], "__file__"):
    import multiprocessing
    process = multiprocessing.get_context("spawn").Process(target=print)
    process.start()
    process.join()
"""


@pytest.fixture
def warm_modules() -> tuple[str, ...]:
    return tuple(MODULES.split(","))


async def run(node: NodeUnderTest, name: str, program: str | list[str], *, warm: str | None = None, **container: Any) -> Json:
    """A pod that has ended; `warm` is its annotation."""
    await start(node, name, program, warm=warm, **container)
    return await node.finished(name)


async def start(node: NodeUnderTest, name: str, program: str | list[str], *, warm: str | None = None, **container: Any) -> None:
    """A pod that runs a program's text from a file, or a command. What lies in `code` is its working directory."""
    code(node).mkdir(exist_ok=True)
    if isinstance(program, str):
        (code(node) / f"{name}_.py").write_text(program)
        program = ["python", f"/code/{name}_.py"]
    mounts = {"volumeMounts": [{"name": "code", "mountPath": "/code"}], "workingDir": "/code"}
    main = {"name": "main", "image": "any", "command": program, **mounts, **container}
    volume = {"name": "code", "hostPath": {"path": str(code(node))}}
    spec = {"restartPolicy": "Never", "hostname": "rank", "volumes": [volume], "containers": [main]}
    await node.create(name, spec, annotations={} if warm is None else {"shunter.dev/warm": warm})


def code(node: NodeUnderTest) -> Path:
    return node.directory.parents[1] / "code"


async def how_started(node: NodeUnderTest, name: str) -> str:
    """WARM, or what the event about a pod's cold start says; empty for a pod that asked for no warm start. Events are written in
    order: Started is the last of these."""
    while True:
        events = (await node.client.list(CORE_EVENTS, node.namespace, view=dict)).items
        about = {event["reason"]: event["message"] for event in events if event["involvedObject"]["name"] == name}
        if started := about.get("Started"):
            return WARM if started == WARM else str(about.get("ColdStart", ""))
        await asyncio.sleep(0.02)


def ending(pod: Json) -> tuple[int, int]:
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return state["exitCode"], state.get("signal", 0)


KINDS = ["file", "relative file", "module", "started by a shell", "module started by a shell"]
KINDS += ["code"] * (sys.version_info < (3, 13))


def command(kind: str, stem: str, text: str) -> list[str]:
    """The command line that runs a program, whose text is in a file of the working directory as well."""
    python = {
        "file": ["python", f"/code/{stem}.py"],
        "relative file": ["python", f"./{stem}.py"],
        "code": ["python", "-c", text],
        "module": ["python", "-m", stem],
    }
    if not kind.endswith("started by a shell"):
        return python[kind]
    start = ProgramStart(
        'mkdir -p "$MADE" && cd /code' if kind.startswith("module") else "cd /code",
        {"RANK": "${NODE_RANK:-0}", "MASTER_ADDR": "${NOWHERE:-localhost}"},
        ("python", "-m", stem) if kind.startswith("module") else ("python", f"{stem}.py"),
    )
    return ["sh", "-c", start.text, f"{stem}.py"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_warm_program_sees_what_a_cold_one_sees(node: NodeUnderTest, kind: str) -> None:
    code(node).mkdir()
    (code(node) / "probe.py").write_text(PROBE)
    given = {"LEARNING_RATE": "1e-4", "RANK": "1", "NODE_RANK": "1", "MADE": "/tmp/made", "program": "mine", "has.dot": "1"}
    container = {
        "workingDir": "/" if "shell" in kind else "/code",
        "env": [{"name": name, "value": value} for name, value in given.items()],
        "resources": {"limits": {"memory": "1Gi"}},
        "securityContext": {"capabilities": {"drop": ["CHOWN"]}, "allowPrivilegeEscalation": False},
    }
    seen = {}
    await node.eventually(lambda: len(_spares(node)) == 2)
    for name, warm in (("warm", None), ("cold", "")):
        pod = await run(node, name, [*command(kind, "probe", PROBE), "-x", "a b"], warm=warm, **container)
        log = await node.log(name)
        assert ending(pod) == (0, 0), log
        seen[name] = [json.loads(line) for line in log.replace(pod["metadata"]["uid"], "UID").splitlines()]
    assert [await how_started(node, name) for name in seen] == [WARM, ""]
    if kind == "module started by a shell":  # mkdir took a number
        for process, number in (("warm", 2), ("cold", 3)):
            assert seen[process][0].pop("number") == number
            for field in ("Pid", "Tgid", "NSpid", "NStgid"):
                del seen[process][0]["status"][field]
    assert len(seen["warm"]) == len(seen["cold"])
    for warm_process, cold_process in zip(seen["warm"], seen["cold"], strict=True):
        assert {name: (value, cold_process[name]) for name, value in warm_process.items() if value != cold_process[name]} == {}


ENDINGS = {
    "returns": "print('out')",
    "raises": "def f():\n    raise ValueError('wrong')\nf()",
    "says a code": "import sys; sys.exit(3)",
    "says a text": "import sys; sys.exit('why')",
    "kills itself": "import os; os.kill(os.getpid(), 9); os.abort()",
    "aborts": "import os; os.abort()",
    "is terminated": "import os, signal; signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15); os._exit(9)",
    "writes where nobody reads": "import os, signal; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13); os._exit(9)",
    "is interrupted": "raise KeyboardInterrupt",
    "has a syntax error": "def",
    "writes without a newline": "import sys; print('a', end=''); sys.stderr.write('b')",
    "runs atexit": "import atexit; atexit.register(print, 'last'); print('first')",
    "waits for a thread": "import threading, time; threading.Timer(0.05, print, ['late']).start()",
    "ends in a thread": "import threading; threading.Thread(target=lambda: 1 / 0).start()",
    "starts processes": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True))",
    "forks": "import os\nif os.fork():\n    print(os.waitstatus_to_exitcode(os.wait()[1]))\nelse:\n    raise SystemExit(7)",
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_warm_program_ends_as_a_cold_one(node: NodeUnderTest, kind: str) -> None:
    code(node).mkdir()
    ended: dict[str, dict[str, Any]] = {"warm": {}, "cold": {}}
    for name, text in ENDINGS.items():
        stem = name.replace(" ", "_")
        (code(node) / f"{stem}.py").write_text(text)
        for how, warm in (("warm", None), ("cold", "")):
            await start(node, f"{how}-{name.replace(' ', '-')}", command(kind, stem, text), warm=warm)
    for name in ENDINGS:
        for how in ended:
            pod = f"{how}-{name.replace(' ', '-')}"
            ended[how][name] = ending(await node.finished(pod)), sorted((await node.log(pod)).splitlines())
    for name in ENDINGS:
        assert await how_started(node, f"warm-{name.replace(' ', '-')}") == WARM
    assert ended["warm"] == ended["cold"]


HANDLERS = {"with a handler": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))", "without one": ""}


@pytest.mark.parametrize("kind", ["file", "started by a shell"])
@pytest.mark.parametrize("handler", HANDLERS)
async def test_a_warm_program_gets_signals_as_a_cold_one(node: NodeUnderTest, kind: str, handler: str) -> None:
    """A first process without a handler gets no SIGTERM; behind a shell it is not the first."""
    code(node).mkdir()
    ends_by_itself = kind == "file" and handler == "without one"
    text = (
        f"import signal, sys, time\n{HANDLERS[handler]}\nprint('ready', flush=True)\ntime.sleep({0.5 if ends_by_itself else 30})"
    )
    (code(node) / "waits.py").write_text(text)
    ended = []
    for name, warm in (("warm", None), ("cold", "")):
        await start(node, name, command(kind, "waits", text), warm=warm)
        await node.until(lambda name=name: _says(node, name, "ready"))  # type: ignore[misc]
        directory = node.attempts((await node.pod(name))["metadata"]["uid"]) / "0"
        files.send_control(str(directory), files.TERMINATE)
        ended.append((ending(await node.finished(name)), await node.log(name)))
    assert [await how_started(node, name) for name in ("warm", "cold")] == [WARM, ""]
    assert ended[0] == ended[1]
    assert ended[0][0] == ((0, 0) if ends_by_itself else (5, 0) if handler == "with a handler" else (143, 0))


async def test_what_cannot_be_prepared_ends_as_behind_a_shell(node: NodeUnderTest) -> None:
    """The program is there, so that only its first step tells warm from cold."""
    ended = []
    start_text = ProgramStart('mkdir -p "$MADE" && cd /code', {}, ("python", "p.py")).text
    code(node).mkdir()
    (code(node) / "p.py").write_text("print('ran')")
    for name, warm in (("warm", None), ("cold", "")):
        container: Json = {"env": [{"name": "MADE", "value": "/code/p.py/below"}], "workingDir": "/"}
        pod = await run(node, name, ["sh", "-c", start_text, "p.py"], warm=warm, **container)
        ended.append((ending(pod), await node.log(name)))
    assert [await how_started(node, name) for name in ("warm", "cold")] == [WARM, ""]
    assert ended[0] == ended[1]
    assert ended[0][0] == (1, 0)


async def _says(node: NodeUnderTest, name: str, text: str) -> bool:
    pod = await node.pod(name)
    return "startTime" in pod.get("status", {}) and text in await node.log(name)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"command": ["sh", "-c", "echo ran"]}, "its program sh is not Python", id="a shell"),
        pytest.param({"tty": True}, "it has a terminal", id="a terminal"),
        pytest.param({"env": [{"name": "OMP_NUM_THREADS", "value": "1"}]}, "later ones start warm", id="environment"),
    ],
)
async def test_what_would_differ_starts_cold_and_says_so(node: NodeUnderTest, changed: Json, reason: str) -> None:
    pod = await run(node, "p", "print('ran')", **changed)
    assert ending(pod) == (0, 0)
    assert (await node.log("p")).strip() == "ran"
    assert reason in await how_started(node, "p")


async def test_the_second_container_of_an_environment_starts_warm(node: NodeUnderTest) -> None:
    container: Json = {"env": [{"name": "PYTHONHASHSEED", "value": "7"}]}

    async def next_is_warm() -> bool:
        name = f"p{len(names)}"
        names.append(name)
        await run(node, name, "print(hash('a'))", **container)
        return await how_started(node, name) == WARM

    names: list[str] = []
    await node.until(next_is_warm)
    assert len(names) > 1
    assert len({await node.log(name) for name in names}) == 1


async def test_a_program_beside_a_module_of_an_imported_name_starts_cold(node: NodeUnderTest) -> None:
    code(node).mkdir()
    (code(node) / "decimal.py").write_text("WHOSE = 'mine'")
    await run(node, "p", "import decimal; print(decimal.WHOSE)")
    assert (await node.log("p")).strip() == "mine"
    assert "decimal.py" in await how_started(node, "p")


async def test_a_program_beside_a_package_with_a_backend_of_torch_starts_cold(node: NodeUnderTest) -> None:
    metadata = code(node) / "own-1.0.dist-info"
    metadata.mkdir(parents=True)
    await run(node, "other", "print('ran')")
    assert await how_started(node, "other") == WARM
    (metadata / "entry_points.txt").write_text("[torch.distributed.backends]\ngloo = own:register\n")
    await run(node, "p", "print('ran')")
    assert "own-1.0.dist-info" in await how_started(node, "p")


async def test_a_parent_runs_the_nodes_own_package_whatever_is_installed(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "shunter").mkdir()
    (tmp_path / "shunter" / "__init__.py").write_text("WHOSE = 'theirs'")
    places: Json = {"env": [{"name": "PYTHONPATH", "value": str(tmp_path)}]}
    names: list[str] = []

    async def is_warm() -> bool:
        names.append(f"p{len(names)}")
        await run(node, names[-1], "import shunter; print(shunter.WHOSE)", **places)
        return await how_started(node, names[-1]) == WARM

    await node.until(is_warm)
    assert (await node.log(names[-1])).strip() == "theirs"


async def test_a_program_starts_in_processes_that_were_there_before_it_was_asked_for(node: NodeUnderTest) -> None:
    await node.eventually(lambda: len(_spares(node)) == 2)
    spares = _spares(node)
    pod = await run(node, "p", "print('ran')")
    state = files.read_json(str(node.attempts(pod["metadata"]["uid"]) / "0" / "state.json"))
    assert {state["supervisor"]: [state["pid"]]}.items() <= spares.items()
    await node.eventually(lambda: len(_spares(node)) == 2)
    assert state["supervisor"] not in _spares(node)


@pytest.mark.parametrize("killed", ["supervisors", "containers"])
async def test_programs_start_warm_without_processes_that_wait_for_them(node: NodeUnderTest, killed: str) -> None:
    await node.eventually(lambda: len(_spares(node)) == 2)
    for supervisor, containers in _spares(node).items():
        for number in [supervisor] if killed == "supervisors" else containers:
            os.kill(number, signal.SIGKILL)
    await node.eventually(lambda: not any(map(_is_waiting, _spares(node).items())))
    await asyncio.gather(*(run(node, name, "print('ran')") for name in "abc"))
    assert [await how_started(node, name) for name in "abc"] == [WARM] * 3
    assert [await node.log(name) for name in "abc"] == ["ran\n"] * 3


async def test_processes_that_wait_hold_only_the_socket_that_they_wait_on(node: NodeUnderTest) -> None:
    await node.eventually(lambda: len(_spares(node)) == 2)
    for supervisor, (container,) in _spares(node).items():
        assert len(os.listdir(f"/proc/{supervisor}/fd")) == 3 + 2, "its own, and its container's"
        assert len(os.listdir(f"/proc/{container}/fd")) == 3 + 1


@pytest.mark.parametrize("stopped", ["none", "supervisors", "containers", "all"])
async def test_processes_that_wait_for_programs_end_with_the_agent(node: NodeUnderTest, stopped: str) -> None:
    await node.eventually(lambda: len(_spares(node)) == 2)
    supervisors, containers = list(_spares(node)), [number for numbers in _spares(node).values() for number in numbers]
    waiting = supervisors + containers
    for number in {"none": [], "supervisors": supervisors, "containers": containers, "all": waiting}[stopped]:
        os.kill(number, signal.SIGSTOP)
    await node.stop()
    await node.eventually(lambda: not any(Path(f"/proc/{number}").exists() for number in waiting))


async def test_copies_share_no_randomness(node: NodeUnderTest) -> None:
    text = "import random, multiprocessing.process as m; print(random.random(), bytes(m.current_process().authkey).hex())"
    for name in ("a", "b"):
        await run(node, name, text)
        assert await how_started(node, name) == WARM
    drawn = [(await node.log(name)).split() for name in ("a", "b")]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


async def test_containers_outlive_their_parent_and_the_agent(node: NodeUnderTest) -> None:
    await start(node, "long", "print('ready', flush=True); input()", stdin=True)
    await node.until(lambda: _says(node, "long", "ready"))
    os.kill(_parent(node), signal.SIGKILL)
    await run(node, "next", "print('ran')")
    assert (await node.log("next")).strip() == "ran"
    assert await how_started(node, "next") not in (WARM, "")
    await node.stop()
    await node.start()
    assert (await node.pod("long"))["status"]["phase"] == "Running"
    await run(node, "after", "print('ran')")
    assert await how_started(node, "after") == WARM


async def test_what_an_environment_runs_first_is_run_once_in_each_program(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.started = getattr(builtins, 'started', 0) + 1")
    places: Json = {"env": [{"name": "PYTHONPATH", "value": str(tmp_path)}]}
    text = "import os, sys; print(started, sys.modules['sitecustomize'].__file__, os.environ['PYTHONPATH'], sys.path)"
    names: list[str] = []

    async def is_warm() -> bool:
        names.append(f"p{len(names)}")
        await run(node, names[-1], text, **places)
        return await how_started(node, names[-1]) == WARM

    await node.until(is_warm)
    assert len(names) > 1
    assert len({await node.log(name) for name in names}) == 1
    assert (await node.log("p0")).startswith(f"1 {tmp_path}/sitecustomize.py {tmp_path} ['/code', '{tmp_path}', ")
    assert not (tmp_path / "__pycache__").exists()


async def test_a_package_that_is_installed_later_is_seen(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("WHICH = 1")
    places: Json = {"env": [{"name": "PYTHONPATH", "value": str(tmp_path)}]}

    async def ran(name: str) -> str:
        await run(node, name, "import own; print(own.WHICH)", warm="own", **places)
        return await how_started(node, name)

    async def is_warm() -> bool:
        names.append(f"p{len(names)}")
        return await ran(names[-1]) == WARM

    names: list[str] = []
    await node.until(is_warm)
    assert not (tmp_path / "__pycache__").exists()
    (tmp_path / "new.py").write_text("WHICH = 2")
    (tmp_path / "new.py").replace(tmp_path / "own.py")
    assert "later ones start warm" in await ran("changed")
    assert (await node.log("changed")).strip() == "2"
    await node.until(is_warm)
    assert (await node.log(names[-1])).strip() == "2"


def _parent(node: NodeUnderTest) -> int:
    """The warm parent of the node: what is called so and has the command line of one."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.joinpath("comm").read_text() == "shunter-warm\n" and str(node.directory) in os.readlink(entry / "fd" / "2"):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError("no warm parent is there")


def _spares(node: NodeUnderTest) -> dict[int, list[int]]:
    """The supervisors that the warm parent has ready, and what each has ready to become its container."""
    children = _children(_parent(node))
    spares = {number: _children(number) for number in children if _name(number) == "shunter-spare"}
    return {number: containers for number, containers in spares.items() if containers}


def _is_waiting(spare: tuple[int, list[int]]) -> bool:
    """Whether all processes of a supervisor with its containers live; a container that was killed is kept for it as a zombie."""
    return all(os.path.exists(f"/proc/{number}/exe") for number in (spare[0], *spare[1]))


def _children(number: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []


def _name(number: int) -> str:
    try:
        return Path(f"/proc/{number}/comm").read_text().strip()
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("raise ImportError('no such library')", "no such library", id="it fails"),
        pytest.param(
            "import ctypes; ctypes.CDLL('libgone.so')", "libgone.so: cannot open shared object file", id="a library is missing"
        ),
        pytest.param("print('hello')", "importing it writes: hello", id="it writes"),
        pytest.param("opened = open('/dev/null')", "leaves files open", id="it opens files"),
        pytest.param(
            "from threading import Event, Thread; Thread(target=Event().wait, daemon=True).start()",
            "starts 1 thread",
            id="it has threads",
        ),
        pytest.param("import os; os._exit(1)", "it ended while it imported", id="it ends"),
    ],
)
async def test_a_parent_that_is_no_fresh_interpreter_is_not_used(
    node: NodeUnderTest, tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "awkward.py").write_text(text)
    container: Json = {"env": [{"name": "PYTHONPATH", "value": str(tmp_path)}]}

    async def is_explained() -> bool:
        name = f"p{len(names)}"
        names.append(name)
        pod = await run(node, name, "print('ran')", warm="awkward", **container)
        assert ending(pod) == (0, 0)
        return reason in await how_started(node, name)

    names: list[str] = []
    await node.until(is_explained)

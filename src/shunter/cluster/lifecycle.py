"""Starts and stops an embedded cluster: keys, tokens, kubeconfigs, the supervisor, and waiting until all of it answers.

Everything here may be repeated: `start` on a running cluster finds it running, after a crash it starts what is missing with
the same keys and port, so kubeconfigs written once stay valid.
"""

from __future__ import annotations

import contextlib
import fcntl
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.cluster import mlflow_server, supervisor
from shunter.cluster.credentials import HOST, STATUS_SERVER_NAME, prepare_credentials
from shunter.cluster.free_ports import free_port, is_free
from shunter.cluster.state_dir import Record, StateDir, default_state_dir, write_private
from shunter.cluster.supervisor_end import end_supervisor
from shunter.errors import EnvironmentProblem

DEFAULT_FEATURE_GATES = "TrainJobStatus=true"
"""Off in the operator, as upstream's. Here only the user's own jobs are changed by it, and their programs can report progress."""
READY_SECONDS = 60.0
WARM = "--warm"
DEFAULT_BACKOFF_LIMIT = 3
"""Restarts that a v1 job without a backoffLimit gets. Upstream's default is unlimited; on one machine a script that cannot work
should fail its job while a user is looking."""


class Options(NamedTuple):
    """How to start a cluster. `port` 0 keeps the port of the last start, or chooses a free one."""

    state_dir: Path
    port: int = 0
    simulate: bool = False
    strict_resources: bool = False
    level: str = ""
    images: Path | None = None
    strict_images: bool = False
    """Images that nothing stands for are not found, instead of being the environment that runs us."""
    warm: tuple[str, ...] = ()
    """Modules that containers need not import again."""
    max_container_restart_period: float = 0.0
    """The longest restart back-off of containers, in seconds; 0 is Kubernetes' default."""
    controllers: bool = True
    """False starts no scheduler and no node: pods stay Pending, as on a control plane without nodes."""
    autoscaler_sync_period: float = 0.0
    """Seconds between two looks of the horizontal pod autoscaler; 0 is Kubernetes' default."""
    feature_gates: str = ""
    """The operator's: `NAME=true`, several with commas; empty for `DEFAULT_FEATURE_GATES`."""
    gang_scheduler_name: str = ""
    """The operator's: makes v1 jobs gangs of a scheduler that is not part of the cluster."""
    disable_admission_plugins: str = ""
    """The API server's: `ServiceAccount` leaves pods without token and needs no account for them."""


class StartedCluster(NamedTuple):
    """A cluster that answers. `already` when it was running before."""

    state: StateDir
    record: Record
    already: bool
    seconds: float


def start(options: Options, *, foreground: bool = False) -> StartedCluster:
    """Starts the cluster and returns once API server, operator and node are ready.

    In the foreground it is the caller's process group that the supervisor dies with; otherwise it outlives the caller.
    Raises EnvironmentProblem naming what is in the way: directory, port, or the component that does not come up and its log.
    What was started is stopped again when it does not come up, or when the wait is interrupted: nothing is left half up.
    """
    begun = time.monotonic()
    state = StateDir(options.state_dir.absolute())
    state.create()
    with alone(state) as gate:
        return start_alone(state, options, begun, foreground, gate)


def start_default(*, warm: tuple[str, ...] = ()) -> str:
    """Starts the cluster that is used where none is named, and returns what to say of it. Raises as `start`."""
    started = start(Options(state_dir=default_state_dir(), warm=warm))
    return f"started an embedded cluster in {started.seconds:.1f} s (stop it with: shunter down)"


@contextlib.contextmanager
def alone(state: StateDir) -> Iterator[BinaryIO]:
    """While no other `start` or `stop` is between looking and acting: for as long as anybody has the open file that it gives."""
    with contextlib.ExitStack() as opened:
        with state.explained():
            gate = opened.enter_context(open(state.root / "start.lock", "ab"))
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield gate


def start_alone(state: StateDir, options: Options, begun: float, foreground: bool, gate: BinaryIO) -> StartedCluster:
    """`start` for a caller in `alone`, which gave it the `gate`; `begun` is the moment, by time.monotonic, from which the seconds
    count. When another program takes one of the chosen ports, others are tried, twice at most."""
    if record := state.read_record():
        if options.port and not record.server.endswith(f":{options.port}"):
            raise EnvironmentProblem(
                f"the cluster in {state.root} is already up at {record.server}.", "Run `shunter down` first to change its port."
            )
        refuse_other_options(state, options)
        wait_until_ready(state, record)
        return StartedCluster(state, record, already=True, seconds=time.monotonic() - begun)
    for may_repeat in (True, True, False):
        with state.explained():
            record = prepare(state, options)
        try:
            found = launch(state, record, foreground, gate)
        except EnvironmentProblem:
            # Another program took a port before the component that it was chosen for: with others it comes up.
            if not may_repeat or all(is_free(port) for port in chosen_ports(record)):
                raise
        else:
            break
    return StartedCluster(state, found, already=False, seconds=time.monotonic() - begun)


def launch(state: StateDir, record: Record, foreground: bool, gate: BinaryIO) -> Record:
    """The record that the supervisor wrote, once all of what is prepared answers; else all of it is stopped again.

    The supervisor has the `gate` too, until it has written who it is: no `stop` overlooks it, even if we are killed meanwhile.
    """
    process = subprocess.Popen(  # it has its own session in the background, so Ctrl-C here does not reach it
        [sys.executable, "-I", "-S", supervisor.__file__, str(state.root)],
        stdin=gate,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=not foreground,
        cwd="/",
    )
    try:
        wait_until_ready(state, record, process)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    found = state.read_record()
    assert found is not None, "the supervisor wrote its record before the API server answered"
    return found


def chosen_ports(record: Record) -> list[int]:
    """The ports that components of this cluster listen on."""
    addresses = (record.server, record.operator_health, record.agent_health)
    return [*(int(address.rpartition(":")[2]) for address in addresses), record.status_server, record.mlflow]


def prepare(state: StateDir, options: Options) -> Record:
    """Everything on disk that a start needs; returns what will be said of it."""
    state.record.unlink(missing_ok=True)
    port = choose_port(state, options.port)
    prepare_credentials(state, port)
    record = Record(
        server=f"https://{HOST}:{port}",
        supervisor=0,
        operator_health=f"{HOST}:{free_port()}",
        agent_health=f"{HOST}:{free_port()}",
        started=time.time(),
        simulate=options.simulate,
        strict_resources=options.strict_resources,
        status_server=port_of_pods(state, "status_server"),
        mlflow=port_of_pods(state, "mlflow"),
    )
    write_private(state.launch, msgspec.json.encode(launch_description(state, options, record, port)))
    for log in ("apiserver", "operator", "agent"):
        mark_log(state, log)
    return record


def stop(state: StateDir, *, timeout: float = 60.0) -> bool:
    """Stops the cluster and everything it started; False when none was running. Objects stay on disk for the next start.

    Also cleans up after a supervisor that was killed: nothing of a cluster outlives `stop`.
    """
    if not state.root.is_dir():
        return False
    with state.explained(), alone(state):
        return stop_alone(state, timeout)


def stop_alone(state: StateDir, timeout: float) -> bool:
    """`stop` for a caller in `alone`. Raises EnvironmentProblem when the supervisor does not end within `timeout` seconds."""
    if not state.is_locked():
        teardown_leftovers(state)
        return False
    end_supervisor(state, timeout)
    return True


def teardown_leftovers(state: StateDir) -> None:
    """Removes pods, mounts, namespaces and cgroups of a cluster whose processes are gone; does nothing to a clean directory."""
    if state.node.exists() and any(state.node.iterdir()):
        subprocess.run(teardown_command(state), check=False, stdin=subprocess.DEVNULL)


def teardown_command(state: StateDir) -> list[str]:
    """The command line that removes what the node left behind; nothing of the cluster may run by then."""
    return [sys.executable, "-m", "shunter.cluster.agent", "--state-dir", str(state.root), "--teardown"]


def launch_description(state: StateDir, options: Options, record: Record, port: int) -> Json:
    """What the supervisor starts, in order."""
    root = str(state.root)
    python = [sys.executable, "-m"]
    agent = [*python, "shunter.cluster.agent", "--state-dir", root, "--health-probe-bind-address", record.agent_health]
    for arguments in node_options(options):
        agent += arguments
    server = [*python, "shunter.cluster.apiserver", "--state-dir", root, "--host", HOST, "--port", str(port)]
    if options.disable_admission_plugins:
        server += ["--disable-admission-plugins", options.disable_admission_plugins]
    operator: Json = {
        "kubeconfig": str(state.component_kubeconfig("operator")),
        "install_runtimes": True,
        "register_webhooks": True,
        "webhook_host": HOST,
        "webhook_port": 0,
        "webhook_cert_dir": str(state.operator_certificate),
        "metrics_bind_address": "0",
        "health_probe_bind_address": record.operator_health,
        "leader_elect": False,
        "default_backoff_limit": DEFAULT_BACKOFF_LIMIT,
        "gang_scheduler_name": options.gang_scheduler_name,
        "feature_gates": options.feature_gates or DEFAULT_FEATURE_GATES,
        "status_server_host": STATUS_SERVER_NAME,
        "status_server_port": record.status_server,
    }
    agent += ["--reach", f"{STATUS_SERVER_NAME}:{record.status_server}={HOST}:{record.status_server}"]
    agent += ["--reach", mlflow_server.reach_option(record.mlflow)]
    has_mlflow = state.mlflow.is_dir() and mlflow_server.is_installed()
    return {
        "children": [
            # The first is stopped last: pods that end still log to it.
            *([mlflow_server.child(state, record.mlflow)] if has_mlflow else []),
            {"name": "apiserver", "argv": server},
            {"name": "operator", "argv": [*python, "shunter.operator", msgspec.json.encode(operator).decode()]},
            {"name": "agent", "argv": agent},
        ],
        "teardown": teardown_command(state),
        "record": msgspec.to_builtins(record),
    }


def node_options(options: Options) -> Iterator[list[str]]:
    """The agent's arguments for what was chosen, one option at a time."""
    if level := "simulated" if options.simulate else options.level:
        yield ["--level", level]
    if options.strict_resources:
        yield ["--strict-resources"]
    if options.max_container_restart_period:
        yield ["--max-container-restart-period", f"{options.max_container_restart_period:g}"]
    if not options.controllers:
        yield ["--no-node"]
    if options.autoscaler_sync_period:
        yield ["--autoscaler-sync-period", f"{options.autoscaler_sync_period:g}"]
    if options.images:
        yield ["--images", str(options.images.absolute())]
    if options.strict_images:
        yield ["--strict-images"]
    if options.warm:
        yield [WARM, ",".join(options.warm)]


def refuse_other_options(state: StateDir, options: Options) -> None:
    """Raises EnvironmentProblem when the running cluster was started without something that is asked for now."""
    launched = {child["name"]: child["argv"] for child in msgspec.json.decode(state.launch.read_bytes())["children"]}
    missing = [" ".join(wanted) for wanted in node_options(options) if not _contains(launched["agent"], wanted)]
    if options.feature_gates and options.feature_gates != msgspec.json.decode(launched["operator"][-1]).get("feature_gates"):
        missing.append(f"--feature-gates {options.feature_gates}")
    if missing:
        raise EnvironmentProblem(
            f"the cluster in {state.root} is already up, without {missing[0]}.",
            "Run `shunter down` first, then start it with these options.",
        )


def _contains(arguments: list[str], wanted: list[str]) -> bool:
    if wanted[0] == WARM and WARM in arguments:
        return {*wanted[1].split(",")} <= {*arguments[arguments.index(WARM) + 1].split(",")}
    return any(arguments[at : at + len(wanted)] == wanted for at in range(len(arguments)))


def choose_port(state: StateDir, wanted: int) -> int:
    """The wanted port, else the one this cluster had before (its kubeconfig stays valid), else a free one."""
    if wanted:
        if not is_free(wanted):
            raise EnvironmentProblem(
                f"port {wanted} on {HOST} is taken by another program.", "Choose another with --port, or leave --port out."
            )
        return wanted
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):  # the first start, or the file is damaged
        port = int(str(_last_record(state)["server"]).rpartition(":")[2])
        if is_free(port):
            return port
    return free_port()


def port_of_pods(state: StateDir, field: str) -> int:
    """The port that pods of the last start use, from this field of the record, else a free one."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        port = int(_last_record(state)[field])
        if is_free(port):
            return port
    return free_port()


def _last_record(state: StateDir) -> Any:
    return msgspec.json.decode(state.launch.read_bytes())["record"]


def wait_until_ready(state: StateDir, record: Record, process: subprocess.Popen[bytes] | None = None) -> None:
    """Returns when API server, operator and node answer; raises EnvironmentProblem with the log of the one that does not."""
    deadline = time.monotonic() + READY_SECONDS
    context = ssl.create_default_context(cafile=str(state.pki / "ca.crt"))
    token = msgspec.json.decode(state.kubeconfig.read_bytes())["users"][0]["user"]["token"]
    checks = {
        "apiserver": f"{record.server}/readyz",
        "operator": f"http://{record.operator_health}/readyz",
        "agent": f"http://{record.agent_health}/readyz",
    }
    for component, url in checks.items():
        for _ in every(0.02, deadline):
            if answers(url, context, token):
                break
            failure = start_failure(state, component, process)
            if failure:
                raise failure
        else:
            raise not_ready(state, component, f"did not become ready within {READY_SECONDS:.0f} s")


def every(seconds: float, deadline: float) -> Iterator[None]:
    """Yields at once, and then each time after so many seconds, until `deadline` (time.monotonic) has passed."""
    while time.monotonic() < deadline:
        yield
        time.sleep(seconds)


def answers(url: str, context: ssl.SSLContext, token: str) -> bool:
    """Whether the URL answers with status 200, asked directly, past any proxy; an answer is waited for 2 seconds."""
    # While the components start, which wait for nothing of it.
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def start_failure(state: StateDir, component: str, process: subprocess.Popen[bytes] | None) -> EnvironmentProblem | None:
    """Why waiting longer is useless: the supervisor ended, or the component died three times since it started."""
    if process is not None and process.poll() is not None:
        return not_ready(state, component, "was not started: the supervisor ended")
    record = state.read_record()
    if record is not None and record.restarts.get(component, 0) >= 3:
        return not_ready(state, component, "ends at once")
    return None


def not_ready(state: StateDir, component: str, what: str) -> EnvironmentProblem:
    """The error to raise: what is wrong with a component, the last line of its log, and where that is."""
    return EnvironmentProblem(
        f"{component} {what}: {last_log_lines(state, component)}",
        f"Its log is {state.logs / component}.log; stop with `shunter down`.",
    )


def mark_log(state: StateDir, component: str) -> None:
    """A line between two runs, so that the last lines of this run are not mistaken for those of the run before."""
    with open(state.logs / f"{component}.log", "ab") as log:
        log.write(f"--- started {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode())


def last_log_lines(state: StateDir, component: str) -> str:
    """The last line that a component wrote in this run; `it wrote nothing.` where there is none, or no log."""
    with contextlib.suppress(OSError):
        lines = (state.logs / f"{component}.log").read_text(errors="replace").rpartition("--- started ")[2].splitlines()[1:]
        if lines:
            return lines[-1].strip()
    return "it wrote nothing."

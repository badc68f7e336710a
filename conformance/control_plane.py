"""A real Kubernetes control plane on free ports of 127.0.0.1, for tests and benchmarks; `conformance/build` makes its program.

    with ControlPlane(directory) as plane:      # or start() and stop()
        subprocess.run(["kubectl", "--kubeconfig", plane.kubeconfig, "get", "nodes"])

    control_plane.py up DIR [--without PART...]    # prints DIR/kubeconfig and leaves it running
    control_plane.py down DIR

Every part is the released program with its own defaults, except where a test would only wait for them. The parts of a
`ControlPlane` end with the process that made it, however that ends: they hold the read end of a pipe and leave at end of file.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import yaml

import part_flags
from shunter.cluster.free_ports import BELOW_EPHEMERAL, free_port
from shunter.kube.tls import certificates
from shunter.kube.tls.certificates import KeyPair

PARTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "jobset")
NEEDED = frozenset({"etcd", "kube-apiserver"})
TETHER = "CONTROLPLANE_TETHER"
NO_GO = 3
"""What `conformance/build` exits with where there is no Go that is new enough."""
START_SECONDS = 90.0
STOP_SECONDS = 5.0
"""For a part to leave by itself. A kube-apiserver with open watches takes up to a minute, so it is always cut short."""
LOG_TAIL_LINES = 20
SHARES = 16


class ControlPlaneError(RuntimeError):
    """A part did not start or answer; the message holds the end of its log."""


class GoMissing(ControlPlaneError):
    """No Go is on PATH that is new enough."""


def build(program: Literal["controlplane", "s3server"] = "controlplane") -> Path:
    """The built program, built where the sources changed. Raises `GoMissing` where no Go can build it, else `ControlPlaneError`
    where it cannot be built."""
    done = subprocess.run([Path(__file__).parent / "build", program], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        error = GoMissing if done.returncode == NO_GO else ControlPlaneError
        raise error(f"conformance/build {program} failed; its reason is on standard error")
    return Path(done.stdout.strip())


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and JobSet, or some of them, with their files in `directory`.

    `audit` writes a line of Metadata level for every request; `durable` lets etcd sync to the disk, as it does in production;
    `plain_pods` stores pods as they are sent: without tokens of service accounts and without tolerations of their namespace;
    `feature_gates` are the API server's; `disabled_controllers` are those of kube-controller-manager that do not run.
    """

    def __init__(
        self,
        directory: Path,
        *,
        parts: Collection[str] = PARTS,
        audit: bool = False,
        durable: bool = False,
        plain_pods: bool = False,
        feature_gates: Mapping[str, bool] = {},
        disabled_controllers: Collection[str] = (),
    ) -> None:
        unknown = set(parts) - set(PARTS)
        if unknown:
            raise ValueError(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        self.directory = directory.resolve()
        self.parts = tuple(part for part in PARTS if part in NEEDED or part in parts)
        self.kubeconfig = self.directory / "kubeconfig"
        self._audit = audit
        self._durable = durable
        self._plain_pods = plain_pods
        self._feature_gates = feature_gates
        self._disabled_controllers = disabled_controllers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._tether: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the API server is ready and JobSet's webhooks answer; raises, with all stopped, when they do not."""
        self._tether = os.pipe()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def start_detached(self) -> None:
        """As `start`, but the parts outlive this process; `down(directory)` ends them."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends every part at once: its files are of no use any more."""
        for part in reversed(self.parts):
            self.stop_part(part, kill=True)
        if self._tether:
            for end in self._tether:
                os.close(end)
            self._tether = None

    def start_part(self, name: str) -> None:
        """Starts a part that `stop_part` stopped; returns when it answers (kube-controller-manager, kube-scheduler: at once)."""
        assert name not in self._processes, f"{name} runs"
        self._spawn(name)
        self._wait_until_it_answers(name)

    def stop_part(self, name: str, *, kill: bool = False) -> None:
        """Ends one part, with SIGKILL if `kill`; its port and its files stay its own. Nothing to do where it does not run."""
        process = self._processes.pop(name, None)
        if process is None:
            return
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        (self.directory / f"{name}.pid").unlink()

    def learn_kinds(self) -> None:
        """To be called when definitions were installed: the garbage collector looks for new kinds only twice a minute, and until
        then leaves what belonged to objects of theirs. Started anew, it knows them."""
        self.stop_part("kube-controller-manager", kill=True)
        self.start_part("kube-controller-manager")

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig of that user and its groups, who may do what RBAC lets them."""
        path = self.directory / f"kubeconfig-{user.replace(':', '_')}"
        self._write_kubeconfig(path, certificates.issue(self._authority, user, (), organizations=groups))
        return path

    def audit_log(self) -> Path:
        """JSON lines, one for every request that was answered."""
        assert self._audit, "started without audit=True"
        return self.directory / "audit.log"

    def log(self, name: str) -> Path:
        """What a part wrote."""
        return self.directory / f"{name}.log"

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self._ports['kube-apiserver']}"

    def _start(self) -> None:
        self._program = build()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._ports = dict(zip(part_flags.PORTS, free_ports(len(part_flags.PORTS)), strict=True))
        self._settings = part_flags.Settings(
            ports=self._ports,
            audit=self._audit,
            durable=self._durable,
            plain_pods=self._plain_pods or "kube-controller-manager" not in self.parts,
            feature_gates=self._feature_gates,
            disabled_controllers=self._disabled_controllers,
        )
        self._write_files()
        self._spawn("etcd")
        self._wait_until_it_answers("etcd")
        self._spawn("kube-apiserver")
        self._wait_until_it_answers("kube-apiserver")
        if "jobset" in self.parts:
            self._install_jobset()
        for part in ("kube-controller-manager", "kube-scheduler"):
            if part in self.parts:
                self._spawn(part)
        if "jobset" in self.parts:
            self._spawn("jobset")
            self._wait_until_it_answers("jobset")

    def _write_files(self) -> None:
        self._authority = certificates.new_authority("control-plane")
        hosts = ("127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        self._write_pair("ca", self._authority)
        self._write_pair("apiserver", certificates.issue(self._authority, "kube-apiserver", hosts))
        self._write_pair("service-accounts", certificates.new_authority("service-accounts"))
        kubelet_client = certificates.issue(
            self._authority, "kube-apiserver-kubelet-client", (), organizations=["system:masters"]
        )
        self._write_pair("kubelet-client", kubelet_client)
        (self.directory / "webhook").mkdir(exist_ok=True)
        self._write_pair("webhook/tls", certificates.issue(self._authority, "jobset", ["127.0.0.1"]))
        self._write("audit-policy.yaml", json.dumps(part_flags.AUDIT_POLICY).encode())
        self._admin = certificates.issue(self._authority, "admin", (), organizations=["system:masters"])
        self._write_pair("admin", self._admin)
        self._write_kubeconfig(self.kubeconfig, self._admin)

    def _write(self, name: str, content: bytes) -> None:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_bytes(content)

    def _write_pair(self, name: str, pair: KeyPair) -> None:
        self._write(f"{name}.crt", pair.certificate)
        self._write(f"{name}.key", pair.key)

    def _write_kubeconfig(self, path: Path, user: KeyPair) -> None:
        def encoded(content: bytes) -> str:
            return base64.b64encode(content).decode()

        cluster = {"server": self.server, "certificate-authority-data": encoded(self._authority.certificate)}
        credentials = {"client-certificate-data": encoded(user.certificate), "client-key-data": encoded(user.key)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "conformance", "cluster": cluster}],
            "users": [{"name": "user", "user": credentials}],
            "contexts": [{"name": "conformance", "context": {"cluster": "conformance", "user": "user"}}],
            "current-context": "conformance",
        }
        self._write(path.name, json.dumps(content, indent=2).encode())

    def _spawn(self, part: str) -> None:
        flags = part_flags.command_line(part, self._settings)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        inherited: tuple[int, ...] = ()
        if self._tether:
            inherited = (self._tether[0],)
            environment[TETHER] = str(self._tether[0])
        with self.log(part).open("ab") as log:
            self._processes[part] = process = subprocess.Popen(
                [self._program, part, *flags],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=inherited,
                start_new_session=True,  # an interrupt at the terminal goes to the test session, which then calls stop()
            )
        self._write(f"{part}.pid", str(process.pid).encode())

    def _wait_until_it_answers(self, part: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._answers(part):
            gone = self._processes[part].poll() is not None
            if gone or time.monotonic() > deadline:
                lines = self.log(part).read_text(errors="replace").splitlines()
                what = "ended" if gone else f"did not answer within {START_SECONDS:.0f} s"
                raise ControlPlaneError("\n".join([f"{part} {what}; the end of {self.log(part)}:", *lines[-LOG_TAIL_LINES:]]))
            time.sleep(0.05)

    def _answers(self, part: str) -> bool:
        match part:
            case "etcd":
                return answers(f"http://127.0.0.1:{self._ports['etcd']}/health")
            case "kube-apiserver":
                return self._request("GET", "/readyz")[0] == http.client.OK
            case "jobset":
                return answers(f"http://127.0.0.1:{self._ports['jobset-health']}/readyz")
            case _:
                return True

    def _install_jobset(self) -> None:
        manifests = self._program.parent / "jobset"
        definition = yaml.load((manifests / "crd.yaml").read_text(), yaml.CSafeLoader)
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self._create(definitions, definition)
        authority = base64.b64encode(self._authority.certificate).decode()
        for configuration in yaml.safe_load_all((manifests / "webhooks.yaml").read_text()):
            for webhook in configuration["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                url = f"https://127.0.0.1:{self._ports['jobset']}{path}"
                webhook["clientConfig"] = {"url": url, "caBundle": authority}
            configuration["metadata"]["name"] = "jobset-" + configuration["metadata"]["name"]
            resource = configuration["kind"].lower() + "s"
            self._create(f"/apis/admissionregistration.k8s.io/v1/{resource}", configuration)
        name = definition["metadata"]["name"]
        deadline = time.monotonic() + START_SECONDS
        while not self._established(f"{definitions}/{name}"):
            if time.monotonic() > deadline:
                raise ControlPlaneError(f"CustomResourceDefinition {name} is not established after {START_SECONDS:.0f} s")
            time.sleep(0.05)

    def _established(self, path: str) -> bool:
        conditions = json.loads(self._request("GET", path)[1])["status"].get("conditions") or []
        return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)

    def _create(self, path: str, obj: Mapping[str, Any]) -> None:
        status, answer = self._request("POST", path, json.dumps(obj).encode())
        if status not in (http.client.CREATED, http.client.CONFLICT):  # it is there from before in a directory used again
            raise ControlPlaneError(f"POST {path}: {status} {answer.decode(errors='replace')}")

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body as admin; status 0 while nothing listens."""
        context = ssl.create_default_context(cafile=str(self.directory / "ca.crt"))
        context.load_cert_chain(self.directory / "admin.crt", self.directory / "admin.key")
        connection = http.client.HTTPSConnection("127.0.0.1", self._ports["kube-apiserver"], context=context, timeout=10)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


def answers(url: str) -> bool:
    """Whether a plain HTTP server says 200 there."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_ports(number: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now. Each of the processes that pytest-xdist starts has its own to choose from:
    what one has found free another could take before it is used."""
    own = BELOW_EPHEMERAL[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % SHARES :: SHARES]
    found: list[int] = []
    while len(found) < number:
        found.append(free_port(taken=found, among=own))
    return found


def down(directory: Path) -> None:
    """Ends the parts that `up` left running in a directory: those whose process id it recorded and that still work in it."""
    directory = directory.resolve()
    for part in reversed(PARTS):
        record = directory / f"{part}.pid"
        if not record.exists():
            continue
        pid = int(record.read_text())
        deadline = time.monotonic() + STOP_SECONDS
        sent = 0
        while works_in(pid, directory):
            wanted = signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL
            if sent != wanted:
                os.kill(pid, wanted)
                sent = wanted
            time.sleep(0.05)
        record.unlink()


def works_in(pid: int, directory: Path) -> bool:
    """Whether a process lives whose working directory is this one."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == directory
    except OSError:
        return False


def main(arguments: Sequence[str]) -> int:
    """The command: `up DIR [--without PART...]` or `down DIR`."""
    parser = argparse.ArgumentParser(prog="control_plane.py", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, print its kubeconfig, leave it running")
    up.add_argument("directory", type=Path)
    up.add_argument("--without", nargs="+", default=[], choices=sorted(set(PARTS) - NEEDED), metavar="PART")
    up.add_argument("--audit", action="store_true", help="write DIR/audit.log")
    up.add_argument("--durable", action="store_true", help="let etcd sync to the disk")
    commands.add_parser("down", help="end it").add_argument("directory", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "down":
        down(chosen.directory)
        return 0
    parts = set(PARTS) - set(chosen.without)
    plane = ControlPlane(chosen.directory, parts=parts, audit=chosen.audit, durable=chosen.durable)
    try:
        plane.start_detached()
    except ControlPlaneError as error:
        print(error, file=sys.stderr)
        return 1
    print(plane.kubeconfig)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

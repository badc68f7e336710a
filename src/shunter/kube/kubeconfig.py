"""From a kubeconfig (or a pod's service account) to a `Connection`: where the API server is, how to trust it, who we are.

client-go's rules: an explicit file stands alone; $KUBECONFIG may list several, of which the first to name something wins; paths
are relative to the file they stand in. Kubeconfigs of ours are JSON inside, so yaml is imported only for those of others.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from shunter.api.meta import Json
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.credentials import (
    CertificateFiles,
    ClientCertificate,
    Credentials,
    ExecPlugin,
    Impersonated,
    StaticCredentials,
    TokenFile,
    basic,
    bearer,
)
from shunter.kube.http.connection import host_port
from shunter.kube.http.proxy import environment_proxy
from shunter.kube.tls.certificates import load_pair, verifying

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to trust the server. No CA means the system's; `ca` is PEM."""

    ca: bytes = b""
    verify: bool = True
    server_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Everything needed to talk to one API server as one user."""

    server: str
    tls: Tls = field(default_factory=Tls)
    credentials: Credentials = field(default_factory=StaticCredentials)
    namespace: str = "default"
    proxy: str = ""
    context: str = ""

    @property
    def address(self) -> tuple[str, int]:
        """The server's host and port."""
        url = urlsplit(self.server)
        return url.hostname or "", url.port or (80 if url.scheme == "http" else 443)

    async def ssl_context(self) -> ssl.SSLContext:
        """A TLS context with the CA and, where that is our identity, the client certificate."""
        try:
            context = verifying(self.tls.ca)
        except (ValueError, ssl.SSLError) as error:
            raise InputError(
                f"Context {self.context}: the certificate-authority holds no certificate in PEM: {error}."
            ) from error
        if not self.tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = await self.credentials.certificate()
        if certificate is not None:
            try:
                load_pair(context, *certificate)
            except ssl.SSLError as error:
                raise InputError(f"Context {self.context}: the client certificate and key do not fit: {error}.") from error
        return context


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    """Where an API server is and how it is trusted; `certificate_authority_data` is base64, and wins over the file."""

    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class ExecVariable(msgspec.Struct, frozen=True):
    """A variable that an exec plugin gets besides those of this process."""

    name: str
    value: str


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """The plugin that gives a user's identity; `install_hint` is printed when it cannot be started, or exits with an error."""

    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[ExecVariable, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """The credentials of a user: `exec` before all else, then a token file, then a token or a password, with or without a client
    certificate. `as` names the user to impersonate; data is base64, and wins over its file."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: Json | None = None
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: tuple[str, ...] = msgspec.field(name="as-groups", default=())


class Context(msgspec.Struct, frozen=True):
    """A cluster and a user by their names; without a namespace it is `default`."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None
    current_context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """One or several kubeconfig files, merged; paths in it are absolute."""

    source: str
    clusters: dict[str, Cluster]
    users: dict[str, User]
    contexts: dict[str, Context]
    current_context: str

    def connection(self, context: str = "") -> Connection:
        """The connection of a context, by default the current one; InputError names what is missing or wrong in the file."""
        name = context or self.current_context
        if not name:
            raise InputError(f"{self.source}: no current-context is set.", "Name a context.")
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise InputError(f"{self.source}: there is no context {name!r}.", f"Contexts there: {known}.")
        entry = self.contexts[name]
        if entry.cluster not in self.clusters:
            raise InputError(f"{self.source}: context {name!r} names cluster {entry.cluster!r}, which is not in the file.")
        if entry.user and entry.user not in self.users:
            raise InputError(f"{self.source}: context {name!r} names user {entry.user!r}, which is not in the file.")
        cluster = self.clusters[entry.cluster]
        if not _has_address(cluster.server):
            raise InputError(
                f"{self.source}: cluster {entry.cluster!r}: server {cluster.server!r} is no URL of an API server.",
                "Write it like https://HOST:6443.",
            )
        tls = Tls(
            ca=_pem(cluster.certificate_authority_data, cluster.certificate_authority, f"cluster {entry.cluster!r}"),
            verify=not cluster.insecure_skip_tls_verify,
            server_name=cluster.tls_server_name,
        )
        return Connection(
            server=cluster.server,
            tls=tls,
            credentials=_credentials(self.users.get(entry.user, User()), entry.user, cluster.server, tls),
            namespace=entry.namespace or "default",
            proxy=_proxy(cluster, f"{self.source}: cluster {entry.cluster!r}"),
            context=name,
        )


def load(path: Path | None = None, *, context: str = "") -> Connection:
    """The connection that kubectl would use: the file given, else $KUBECONFIG, else ~/.kube/config.

    InputError when a file is wrong, EnvironmentProblem when there is none.
    """
    return read(path).connection(context)


def find(path: Path | None = None, *, context: str = "") -> Connection:
    """Like `load`; a process in a pod that was given no kubeconfig uses its service account."""
    if path is None and not context and not listed() and is_in_cluster():
        return in_cluster()
    return load(path, context=context)


def read(path: Path | None = None) -> Kubeconfig:
    """All contexts of the file given, else of the files in $KUBECONFIG, else of ~/.kube/config."""
    if path is not None:
        return _merged([path])
    files = listed() or [default_path()]
    existing = [file for file in files if file.exists()]
    if not existing:
        looked = ", ".join(map(str, files))
        raise EnvironmentProblem(f"No kubeconfig found ({looked}).", "Start an embedded cluster or name a kubeconfig.")
    return _merged(existing)


def listed() -> list[Path]:
    """The files that $KUBECONFIG names, whether they are there or not: none where it holds nothing but separators."""
    return [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]


def default_path() -> Path:
    """`~/.kube/config`, whether it is there or not."""
    return Path.home() / ".kube" / "config"


def is_in_cluster() -> bool:
    """Whether this process runs in a pod with a service account token."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and (SERVICE_ACCOUNT / "token").exists()


def in_cluster() -> Connection:
    """The connection of a pod's service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise EnvironmentProblem("This process runs in no cluster: KUBERNETES_SERVICE_HOST is not set.")
    try:
        ca = (SERVICE_ACCOUNT / "ca.crt").read_bytes()
        namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except OSError as error:
        raise EnvironmentProblem(f"The service account in {SERVICE_ACCOUNT} cannot be read: {error}.") from error
    return Connection(
        server=f"https://{host_port(host, port)}",
        tls=Tls(ca=ca),
        credentials=TokenFile(SERVICE_ACCOUNT / "token"),
        namespace=namespace or "default",
    )


def _merged(paths: Sequence[Path]) -> Kubeconfig:
    files = [_parsed(path) for path in paths]
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    for path, file in zip(paths, files, strict=True):
        for cluster in file.clusters or ():
            clusters.setdefault(cluster.name, _with_absolute_paths(cluster.cluster, path, "certificate_authority"))
        for user in file.users or ():
            users.setdefault(user.name, _user_with_absolute_paths(user.user or User(), path))
        for context in file.contexts or ():
            contexts.setdefault(context.name, context.context)
    return Kubeconfig(
        source=", ".join(str(path) for path in paths),
        clusters=clusters,
        users=users,
        contexts=contexts,
        current_context=next((file.current_context for file in files if file.current_context), ""),
    )


def _parsed(path: Path) -> _File:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"The kubeconfig {path} cannot be read: {error.strerror}.") from error
    try:
        if text.lstrip().startswith(b"{"):
            return msgspec.json.decode(text, type=_File)
        return msgspec.convert(_yaml(path, text), type=_File)
    except msgspec.DecodeError as error:
        raise InputError(f"The kubeconfig {path} is wrong: {error}.") from error


def _yaml(path: Path, text: bytes) -> object:
    import yaml

    from shunter.api.yaml import LenientLoader

    try:
        return yaml.load(text, LenientLoader) or {}
    except yaml.YAMLError as error:
        raise InputError(f"The kubeconfig {path} is not YAML: {error}.") from error


_Entry = TypeVar("_Entry", Cluster, User)


def _with_absolute_paths(entry: _Entry, path: Path, *fields: str) -> _Entry:
    changes = {name: str(path.parent.absolute() / value) for name in fields if (value := getattr(entry, name))}
    return msgspec.structs.replace(entry, **changes)


def _user_with_absolute_paths(user: User, path: Path) -> User:
    user = _with_absolute_paths(user, path, "client_certificate", "client_key", "token_file")
    if user.exec is not None and os.sep in user.exec.command:
        command = str(path.parent.absolute() / user.exec.command)
        user = msgspec.structs.replace(user, exec=msgspec.structs.replace(user.exec, command=command))
    return user


def _has_address(server: str) -> bool:
    try:
        url = urlsplit(server)
        return bool(url.hostname) and url.scheme in ("http", "https") and url.port != 0
    except ValueError:  # a port above 65535 or that is no number, half a bracket
        return False


def _proxy(cluster: Cluster, who: str) -> str:
    """The URL of the proxy on the way to the cluster; empty when there is none."""
    proxy = cluster.proxy_url or environment_proxy(cluster.server)
    if proxy and not _has_address(proxy):
        raise InputError(
            f"{who}: the proxy that proxy-url or the environment names is no URL of an HTTP proxy.",
            "Use http://HOST:3128; other protocols, such as SOCKS, are not supported.",
        )
    return proxy


def _credentials(user: User, name: str, server: str, tls: Tls) -> Credentials:
    credentials = _own_credentials(user, f"user {name!r}", server, tls)
    if user.impersonate:
        return Impersonated(credentials, user.impersonate, uid=user.impersonate_uid, groups=user.impersonate_groups)
    return credentials


def _own_credentials(user: User, who: str, server: str, tls: Tls) -> Credentials:
    if user.exec is not None:
        return _exec_plugin(user.exec, who, server, tls)
    if user.auth_provider is not None:
        name = user.auth_provider.get("name", "")
        raise InputError(f"{who}: auth-provider {name!r} is not supported.", "Use an exec plugin of the provider, or a token.")
    certificate = _pem(user.client_certificate_data, user.client_certificate, who)
    key = _pem(user.client_key_data, user.client_key, who)
    if bool(certificate) != bool(key):
        raise InputError(f"{who}: a client certificate needs its key, and a key its certificate.")
    if user.token_file:
        return TokenFile(Path(user.token_file), user.token)
    headers = bearer(user.token) if user.token else basic(user.username, user.password) if user.username else ()
    if certificate and not (user.client_certificate_data and user.client_key_data):
        return CertificateFiles(
            lambda: _pem(user.client_certificate_data, user.client_certificate, who),
            lambda: _pem(user.client_key_data, user.client_key, who),
            headers,
        )
    return StaticCredentials(headers, ClientCertificate(certificate, key) if certificate else None)


def _exec_plugin(plugin: Exec, who: str, server: str, tls: Tls) -> ExecPlugin:
    if plugin.api_version not in EXEC_VERSIONS:
        raise InputError(f"{who}: exec.apiVersion {plugin.api_version!r} is not one of {', '.join(EXEC_VERSIONS)}.")
    cluster: Json | None = None
    if plugin.provide_cluster_info:
        cluster = {"server": server, "insecure-skip-tls-verify": not tls.verify, "tls-server-name": tls.server_name}
        if tls.ca:
            cluster["certificate-authority-data"] = base64.b64encode(tls.ca).decode()
    return ExecPlugin(
        [plugin.command, *(plugin.args or ())],
        api_version=plugin.api_version,
        environment={variable.name: variable.value for variable in plugin.env or ()},
        cluster=cluster,
        install_hint=plugin.install_hint,
    )


def _pem(data: str, file: str, who: str) -> bytes:
    """Data wins over a file, as in client-go."""
    if data:
        try:
            # As Go: text that wraps its lines is base64 as well.
            return base64.b64decode(data.replace("\r", "").replace("\n", ""), validate=True)
        except binascii.Error as error:
            raise InputError(f"{who}: a certificate or key in the kubeconfig is not base64: {error}.") from error
    if not file:
        return b""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{who}: {file} cannot be read: {error.strerror}.") from error

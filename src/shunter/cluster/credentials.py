"""Keys, certificates, tokens and kubeconfigs of an embedded cluster: made once, kept over restarts."""

from __future__ import annotations

import secrets

import msgspec

from shunter.api.meta import Json
from shunter.cluster.state_dir import StateDir, write_private

HOST = "127.0.0.1"
STATUS_SERVER_NAME = "shunter-webhook.shunter-system.svc"
"""The name under which pods reach the operator's status server, as on a cluster where it is installed."""
COMPONENTS = ("admin", "operator", "agent")
CERTIFICATE_NAMES = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


def prepare_credentials(state: StateDir, port: int) -> None:
    """Authority, certificates of API server and operator, tokens and kubeconfigs: made once, kept over restarts."""
    authority, server = state.pki / "ca.crt", state.pki / "server.crt"
    operator = state.operator_certificate / "tls.crt"
    if not (server.exists() and operator.exists()):
        from shunter.kube.tls.certificates import AUTHORITY_DAYS, KeyPair, issue, new_authority

        # Of each pair the certificate is written last: where it is, all before it is. Nothing renews them.
        if not server.exists():
            pair = new_authority("shunter-embedded-cluster")
            issued = issue(pair, "kube-apiserver", CERTIFICATE_NAMES, days=AUTHORITY_DAYS)
            write_private(state.pki / "ca.key", pair.key)
            write_private(authority, pair.certificate)
            write_private(state.pki / "server.key", issued.key)
            write_private(server, issued.certificate)
        pair = KeyPair(authority.read_bytes(), (state.pki / "ca.key").read_bytes())
        issued = issue(pair, "shunter-operator", (HOST, STATUS_SERVER_NAME), days=AUTHORITY_DAYS)
        state.operator_certificate.mkdir(mode=0o700, exist_ok=True)
        write_private(state.operator_certificate / "ca.crt", pair.certificate)
        write_private(state.operator_certificate / "tls.key", issued.key)
        write_private(operator, issued.certificate)
    tokens = known_tokens(state)
    by_user = {entry["user"]: token for token, entry in tokens.items()}
    for component in COMPONENTS:
        if component not in by_user:
            by_user[component] = secrets.token_urlsafe(32)
            tokens[by_user[component]] = {"user": component, "groups": ["system:masters", "system:authenticated"]}
    write_private(state.tokens, msgspec.json.format(msgspec.json.encode(tokens)))
    certificate = authority.read_bytes()
    for component in COMPONENTS:
        path = state.kubeconfig if component == "admin" else state.component_kubeconfig(component)
        config = kubeconfig(f"https://{HOST}:{port}", certificate, component, by_user[component])
        write_private(path, msgspec.json.format(msgspec.json.encode(config)) + b"\n")


def known_tokens(state: StateDir) -> dict[str, Json]:
    """The tokens of the last start; none at the first, and where the file is damaged, as it may be after a loss of power."""
    try:
        return msgspec.json.decode(state.tokens.read_bytes(), type=dict[str, Json])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


def kubeconfig(server: str, authority: bytes, user: str, token: str) -> Json:
    """A kubeconfig as JSON, which is YAML as well: kubectl and every SDK read it, and we need no YAML parser to."""
    import base64

    data = base64.b64encode(authority).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "shunter", "cluster": {"server": server, "certificate-authority-data": data}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "shunter", "context": {"cluster": "shunter", "user": user, "namespace": "default"}}],
        "current-context": "shunter",
    }

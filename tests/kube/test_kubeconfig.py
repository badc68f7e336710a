"""Kubeconfigs: client-go's rules for which file wins, where paths lead and who we are."""

import base64
import os
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from kube.kubeconfigs import config, written
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.kube.errors import ConnectionProblem
from shunter.kube.kubeconfig import Connection, Tls
from shunter.kube.tls.certificates import KeyPair, issue, new_authority
from shunter.kube.webhooks.server import WebhookServer


@pytest.fixture(autouse=True)
def no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


async def headers(path: Path) -> list[tuple[str, str]]:
    return list(await kubeconfig.load(path).credentials.headers())


def test_a_file_as_kubectl_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\npreferences: {}\nclusters:\n- cluster:\n    server: https://a:6443\n  name: a\n"
        "contexts:\n- context:\n    cluster: a\n    user: u\n  name: c\ncurrent-context: c\n"
        "users:\n- name: u\n  user:\n    token: t\n"
    )
    connection = kubeconfig.load(path)
    assert (connection.server, connection.namespace, connection.context) == ("https://a:6443", "default", "c")


def test_a_file_of_json_is_read_without_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert kubeconfig.load(written(tmp_path / "c", config())).namespace == "x-ns"


@pytest.mark.parametrize(
    ("of_context", "namespace"), [({"namespace": "team"}, "team"), ({"namespace": ""}, "default"), ({}, "default")]
)
def test_the_namespace_is_that_of_the_context_else_default(of_context: dict[str, str], namespace: str, tmp_path: Path) -> None:
    content = config()
    content["contexts"] = [{"name": "x", "context": {"cluster": "x", "user": "x", **of_context}}]
    assert kubeconfig.load(written(tmp_path / "c", content)).namespace == namespace


def test_of_several_files_the_first_to_name_something_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = written(tmp_path / "one", {**config(), "current-context": ""})
    two = written(tmp_path / "two", config(cluster={"server": "https://other"}))
    three = written(tmp_path / "three", config(name="y"))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(file) for file in (one, tmp_path / "missing", two, three)))
    assert kubeconfig.load().server == "https://x"
    assert kubeconfig.load(context="y").server == "https://y"
    assert sorted(kubeconfig.read().contexts) == ["x", "y"]


def test_an_explicit_file_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "one", config())))
    assert kubeconfig.load(written(tmp_path / "two", config(name="y"))).server == "https://y"


def test_the_home_directory_is_the_last_resort(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="No kubeconfig found"):
        kubeconfig.load()
    written(tmp_path / "home" / ".kube" / "config", config())
    assert kubeconfig.load().server == "https://x"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"current-context": "z"}, "there is no context 'z'. Contexts there: x."),
        ({"current-context": ""}, "no current-context is set"),
        ({"clusters": []}, "context 'x' names cluster 'x', which is not in the file"),
        ({"users": None}, "context 'x' names user 'x', which is not in the file"),
        ({"clusters": [{"name": "x", "cluster": {}}]}, "missing required field `server`"),
        *(
            ({"clusters": [{"name": "x", "cluster": {"server": server}}]}, f"cluster 'x': server {server!r} is no URL")
            for server in ("", "x", "x:6443", "https://x:99999", "https://x:port", "https://[::1", "ftp://x")
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        kubeconfig.load(written(tmp_path / "c", {**config(), **change}))
    assert said in str(error.value)


def test_a_file_that_is_neither_yaml_nor_json_is_said(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a: [")
    with pytest.raises(InputError, match="is not YAML"):
        kubeconfig.load(tmp_path / "c")


def test_certificates_may_be_wrapped_into_lines(tmp_path: Path) -> None:
    wrapped = base64.encodebytes(b"certificate " * 20).decode()
    connection = kubeconfig.load(written(tmp_path / "c", config(cluster={"certificate-authority-data": wrapped})))
    assert connection.tls.ca == b"certificate " * 20


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({}, []),
        ({"token": "t"}, [("Authorization", "Bearer t")]),
        ({"token": "t", "tokenFile": "nowhere"}, [("Authorization", "Bearer t")]),
        ({"username": "u", "password": "p"}, [("Authorization", "Basic dTpw")]),
        (
            {"token": "t", "as": "alice", "as-uid": "7", "as-groups": ["a", "b"]},
            [
                ("Authorization", "Bearer t"),
                ("Impersonate-User", "alice"),
                ("Impersonate-Group", "a"),
                ("Impersonate-Group", "b"),
                ("Impersonate-Uid", "7"),
            ],
        ),
    ],
    ids=["nobody", "token", "token without its file", "password", "impersonation"],
)
async def test_who_we_are_goes_into_headers(tmp_path: Path, user: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert await headers(written(tmp_path / "c", config(user))) == expected


@pytest.mark.parametrize(
    ("cluster", "environment", "proxy"),
    [
        ({}, {}, ""),
        ({}, {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({}, {"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ({}, {"HTTP_PROXY": "http://proxy:3128"}, ""),
        ({}, {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "x"}, ""),
        ({"server": "https://127.0.0.1:6443"}, {"HTTPS_PROXY": "http://proxy:3128"}, ""),
        ({"proxy-url": "http://own:1"}, {"HTTPS_PROXY": "http://proxy:3128"}, "http://own:1"),
    ],
    ids=["none", "environment", "without a scheme", "for http only", "excepted", "this machine", "in the kubeconfig"],
)
def test_the_proxy_is_the_one_that_kubectl_would_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: dict[str, Any], environment: dict[str, str], proxy: str
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert kubeconfig.load(written(tmp_path / "c", config(cluster=cluster))).proxy == proxy


@pytest.mark.parametrize(
    ("server", "excepted", "is_direct"),
    [
        ("https://10.96.0.1", "10.0.0.0/8", True),
        ("https://11.0.0.1", "10.0.0.0/8,localhost", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:443", False),
        ("https://api.corp.example:6443", "*.corp.example", True),
        ("https://api.corp.example:6443", "other, .CORP.example:6443", True),
        ("https://api.corp.example:6443", "corp.example:443", False),
        ("https://notcorp.example", "corp.example,,:443,10.0.0.0/x", False),
        ("https://api.corp.example", "*", True),
    ],
)
def test_servers_are_excepted_from_the_proxy_as_for_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, excepted: str, is_direct: bool
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    for name, value in {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": excepted}.items():
        monkeypatch.setenv(name, value)
    connection = kubeconfig.load(written(tmp_path / "c", config(cluster={"server": server})))
    assert connection.proxy == ("" if is_direct else "http://proxy:3128")


@pytest.mark.parametrize("proxy", ["socks5://localhost:1080", "http://", "http://proxy:99999"])
def test_a_proxy_that_is_not_spoken_to_is_said(tmp_path: Path, proxy: str) -> None:
    with pytest.raises(InputError, match=r"cluster 'x': the proxy .* is no URL of an HTTP proxy"):
        kubeconfig.load(written(tmp_path / "c", config(cluster={"proxy-url": proxy})))


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"auth-provider": {"name": "oidc"}}, "auth-provider 'oidc' is not supported"),
        ({"client-certificate-data": "YQ=="}, "a client certificate needs its key"),
        ({"client-key-data": "not base64!"}, "is not base64"),
        ({"client-certificate": "missing.crt"}, "missing.crt cannot be read"),
        ({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "exec.apiVersion"),
    ],
)
def test_credentials_that_cannot_work_are_named(tmp_path: Path, user: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        kubeconfig.load(written(tmp_path / "c", config(user)))


async def test_a_token_file_is_relative_to_its_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    assert await headers(written(tmp_path / "c", config({"tokenFile": "token"}))) == [("Authorization", "Bearer one")]


async def test_the_token_in_a_file_goes_before_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("renewed")
    path = written(tmp_path / "c", config({"token": "old", "tokenFile": "token"}))
    assert await headers(path) == [("Authorization", "Bearer renewed")]


async def test_a_pods_service_account_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = new_authority("ca").certificate
    for name, content in (("token", b"t"), ("ca.crt", authority), ("namespace", b"team")):
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    connection = kubeconfig.find()
    assert (connection.server, connection.namespace, connection.tls.ca) == ("https://[fd00::1]:443", "team", authority)
    assert await connection.credentials.headers() == (("Authorization", "Bearer t"),)


@pytest.mark.parametrize("form", ["data", "files"])
async def test_a_client_certificate_is_shown_to_the_server(tmp_path: Path, form: str) -> None:
    authority = new_authority("ca")
    pair = issue(authority, "alice", [])
    if form == "files":
        (tmp_path / "a.crt").write_bytes(pair.certificate)
        (tmp_path / "a.key").write_bytes(pair.key)
        (tmp_path / "ca.crt").write_bytes(authority.certificate)
        user = {"client-certificate": "a.crt", "client-key": "a.key"}
        cluster = {"certificate-authority": "ca.crt"}
    else:
        user = {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}
        cluster = {"certificate-authority-data": encoded(authority.certificate)}
    connection = kubeconfig.load(written(tmp_path / "c", config(user, cluster)))
    context = await connection.ssl_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(authority.certificate.decode())]
    assert await connection.credentials.certificate() == (pair.certificate, pair.key)


async def test_a_client_certificate_that_is_renewed_in_its_files_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(pair: KeyPair, *, key: KeyPair | None = None) -> None:
        (tmp_path / "a.crt").write_bytes(pair.certificate)
        (tmp_path / "a.key").write_bytes((key or pair).key)

    one, two, three = (issue(new_authority("ca"), "alice", []) for _ in range(3))
    write(one)
    user = {"client-certificate": "a.crt", "client-key": "a.key"}
    credentials = kubeconfig.load(written(tmp_path / "c", config(user))).credentials

    async def shown() -> tuple[bytes, ...]:
        """Certificate and key, by which the server knows the client."""
        return await credentials.certificate() or ()

    assert not await credentials.refresh(), "nothing new"
    write(two, key=one)
    assert not await credentials.refresh(), "half a renewal"
    assert await shown() == one
    write(two)
    assert await credentials.refresh()
    assert await shown() == two
    write(three)
    assert await shown() == two
    monkeypatch.setattr("shunter.kube.credentials.FILE_AGE", -1.0)
    assert await shown() == three, "before the old one is refused"
    (tmp_path / "a.crt").unlink()
    assert await shown() == three


async def test_a_certificate_and_a_key_that_do_not_fit_are_said(tmp_path: Path) -> None:
    one, two = (issue(new_authority("ca"), "alice", []) for _ in range(2))
    user = {"client-certificate-data": encoded(one.certificate), "client-key-data": encoded(two.key)}
    with pytest.raises(InputError, match="certificate and key do not fit"):
        await kubeconfig.load(written(tmp_path / "c", config(user))).ssl_context()


@pytest.fixture
async def https(tmp_path: Path) -> Any:
    authority = new_authority("ca")
    server = WebhookServer("127.0.0.1", 0, issue(authority, "s", ["kubernetes"]), {})
    await server.start()
    yield server, authority
    await server.stop()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("tls", "trusted"),
    [
        (lambda ca: Tls(ca=ca, server_name="kubernetes"), True),
        (lambda ca: Tls(verify=False), True),
        (lambda ca: Tls(ca=ca), False),
        (lambda ca: Tls(ca=new_authority("x").certificate, server_name="kubernetes"), False),
    ],
    ids=["tls-server-name", "insecure-skip-tls-verify", "wrong name", "wrong authority"],
)
async def test_the_server_is_trusted_as_the_kubeconfig_says(
    https: tuple[WebhookServer, KeyPair], tls: Any, trusted: bool
) -> None:
    server, authority = https
    connection = Connection(server=f"https://127.0.0.1:{server.port}", tls=tls(authority.certificate))
    async with connect(connection) as client:
        if trusted:
            assert (await client.transport.request("GET", "/x")).status == 404
        else:
            with pytest.raises(ConnectionProblem, match=r"its certificate is not trusted: .* certificate-authority must be"):
                await client.transport.request("GET", "/x")


def bare(name: str, issuer: KeyPair | None = None, *, hosts: tuple[str, ...] = ()) -> KeyPair:
    """A certificate with what Go asks for and no more, as those of many clusters: an authority unless it is for hosts."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer = load_pem_private_key(issuer.key, None) if issuer else key
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=x509.load_pem_x509_certificate(issuer.certificate).subject if issuer else subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(minutes=1),
        not_valid_after=now + timedelta(days=1),
    ).add_extension(x509.BasicConstraints(ca=not hosts, path_length=None), critical=True)
    if hosts:
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return KeyPair(
        builder.sign(signer, SHA256()).public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


@pytest.mark.integration
@pytest.mark.parametrize("trusted", ["its issuer", "the root"])
async def test_a_server_is_trusted_that_kubectl_trusts(monkeypatch: pytest.MonkeyPatch, trusted: str) -> None:
    """Python has become stricter with 3.13."""
    new_context = ssl.create_default_context

    def stricter(*args: Any, **options: Any) -> ssl.SSLContext:
        context = new_context(*args, **options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", stricter)
    root = bare("root")
    issuer = bare("issuer", root) if trusted == "its issuer" else root
    server = WebhookServer("127.0.0.1", 0, bare("server", issuer, hosts=("kubernetes",)), {})
    await server.start()
    tls = Tls(ca=issuer.certificate, server_name="kubernetes")
    async with connect(Connection(server=f"https://127.0.0.1:{server.port}", tls=tls)) as client:
        assert (await client.transport.request("GET", "/x")).status == 404
    await server.stop()


@pytest.mark.parametrize("content", [b"no certificate", bytes(range(128, 256))], ids=["text", "DER"])
async def test_an_authority_that_is_none_is_said(content: bytes) -> None:
    with pytest.raises(InputError, match="Context here: the certificate-authority holds no certificate in PEM"):
        await Connection(server="https://x", tls=Tls(ca=content), context="here").ssl_context()


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()

"""Which proxy leads to a server by $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY, read as kubectl and other Go programs read them.

Source: golang.org/x/net `http/httpproxy`. Python's own reading knows neither networks (`10.0.0.0/8`) nor `*.example.com`, nor a
proxy that is written without `http://`.
"""

from __future__ import annotations

import os
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_Address = IPv4Address | IPv6Address | None


def environment_proxy(server: str) -> str:
    """The URL of the proxy; empty when there is none for this server. This machine is never asked for by a proxy."""
    url = urlsplit(server)
    proxy = _variable(f"{url.scheme}_proxy")
    if not proxy or _is_excepted(url.hostname or "", url.port or (80 if url.scheme == "http" else 443)):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(name: str) -> str:
    return os.environ.get(name.upper()) or os.environ.get(name) or ""


def _is_excepted(host: str, port: int) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    exceptions = (part.strip().lower() for part in _variable("no_proxy").split(","))
    return any(_excepts(exception, host, address, port) for exception in exceptions if exception)


def _excepts(exception: str, host: str, address: _Address, port: int) -> bool:
    """`*`, a network, or an address or domain, with the port or without one; a domain is meant with all that is below it."""
    if exception == "*":
        return True
    if "/" in exception:
        return address is not None and _is_within(address, exception)
    name = exception
    if ":" in exception and _address(exception) is None:
        name, _, of_port = exception.rpartition(":")
        if of_port != str(port):
            return False
    if (excepted := _address(name.strip("[]"))) is not None:
        return excepted == address
    domain = name.removeprefix("*") if name.startswith("*.") else name
    return bool(domain) and (host == domain or host.endswith(domain if domain.startswith(".") else f".{domain}"))


def _is_within(address: IPv4Address | IPv6Address, network: str) -> bool:
    try:
        return address in ip_network(network, strict=False)
    except ValueError:
        return False


def _address(text: str) -> _Address:
    try:
        return ip_address(text)
    except ValueError:
        return None

"""Filters a pod's network traffic with nf_tables rules in the pod's own network namespace.

The nft program is not needed: the messages are plain structs (linux/netfilter/nf_tables.h). All rules of a pod are replaced in
one transaction, so there is no moment without them. The rules apply to the first packet of a TCP connection, so existing
connections continue; for other protocols, connection tracking recognises replies to allowed traffic.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from shunter.cluster.node.launch import linux
from shunter.cluster.node.launch.netlink import RouteSocket, attribute

_NETLINK_NETFILTER = 12
_SO_SNDBUFFORCE = 32
_SUBSYSTEM = 10 << 8
_NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN, _NEW_RULE, _NEW_SET, _NEW_ELEMENTS = 0, 2, 3, 6, 9, 12
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_REQUEST, _ACK, _CREATE, _APPEND = 0x1, 0x4, 0x400, 0x800
_INET = 1
_NESTED = 0x8000
_TABLE = b"shunter\0"
_REGISTER, _VERDICT = 1, 0
_META_IN, _META_OUT, _META_FAMILY, _META_PROTOCOL = 4, 5, 15, 16
_NETWORK, _TRANSPORT = 1, 2
_EQUAL, _UNEQUAL, _AT_MOST, _AT_LEAST = 0, 1, 3, 5
_DROP, _ACCEPT = 0, 1
_IPV4 = b"\x02"
_KNOWN_TO_TRACKING = 2 | 4  # established, related
_SYN, _SYN_ACK = 0x02, 0x12
_PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}
_LOOPBACK = 1  # the index of lo in every network namespace
_DIRECTIONS = {"ingress": (b"input\0", 1, _META_IN, 12), "egress": (b"output\0", 3, _META_OUT, 16)}
"""Chain, hook, the field with the interface, and where the address of the other side stands in an IPv4 header."""


class _Message(NamedTuple):
    kind: int
    flags: int
    body: bytes


def set_filter(request: dict[str, Any]) -> None:
    """Lets through, in the network `namespace`, what `ingress` and `egress` allow, and nothing else; null: everything.

    An allowance has `addresses` (null: any) or `block` with `excepted`, and `protocol` (empty: any), `first` and `last` (ports).
    What comes from `trusted`, an address, is always let in.
    """
    linux.set_namespace(request["namespace"])
    _replace_rules(request, loopback=_LOOPBACK)


def try_filter(request: dict[str, Any]) -> None:
    """Raises OSError or RuntimeError where filters have no effect. Ends in a network namespace of its own."""
    linux.unshare(linux.CLONE_NEWNET)
    RouteSocket().set_up("lo")
    here = "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for receiver in (one, other):
            receiver.bind((here, 0))
            receiver.setblocking(False)
        open_port = one.getsockname()[1]
        allowance = {"addresses": [here], "block": "", "excepted": [], "protocol": "UDP", "first": open_port, "last": open_port}
        _replace_rules({"ingress": [allowance], "egress": None, "trusted": "127.0.0.2"}, loopback=0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for receiver in (one, other):
                sender.sendto(b"?", receiver.getsockname())
        if not _has_received(one):
            raise RuntimeError("the kernel took a packet filter and let nothing through")
        if _has_received(other):
            raise RuntimeError("the kernel took a packet filter and let everything through")


def _has_received(receiver: socket.socket) -> bool:
    try:
        return bool(receiver.recv(1))
    except BlockingIOError:
        return False


def _replace_rules(request: dict[str, Any], *, loopback: int) -> None:
    """Creates and deletes the table first, which works whether or not it exists."""
    table = [attribute(1, _TABLE)]
    messages = [
        _message(_NEW_TABLE, table, flags=_CREATE),
        _message(_DELETE_TABLE, table),
    ]
    if request["ingress"] is not None or request["egress"] is not None:
        messages.append(_message(_NEW_TABLE, table, flags=_CREATE))
    for direction in _DIRECTIONS:
        if request[direction] is not None:
            messages += _chain(direction, request[direction], request["trusted"], loopback)
    _commit(messages)


def _chain(direction: str, allowances: Sequence[dict[str, Any]], trusted: str, loopback: int) -> list[_Message]:
    name, hook, interface, offset = _DIRECTIONS[direction]
    hooked = _nested(4, attribute(1, _number(hook)), attribute(2, _number(0)))
    policy = attribute(5, _number(_DROP))
    chain = [attribute(1, _TABLE), attribute(3, name), hooked, policy, attribute(7, b"filter\0")]
    messages = [_message(_NEW_CHAIN, chain, flags=_CREATE)]
    rules = [
        [_meta(interface), _compare(_EQUAL, struct.pack("=I", loopback))],
        [
            *_protocol("TCP"),
            _payload(_TRANSPORT, 13, 1),
            _mask(bytes([_SYN_ACK])),
            _compare(_UNEQUAL, bytes([_SYN])),
        ],
        [_tracking_state(), _mask(struct.pack("=I", _KNOWN_TO_TRACKING)), _compare(_UNEQUAL, bytes(4))],
    ]
    if direction == "ingress":
        rules.append(_from_block(offset, f"{trusted}/32"))
    for number, allowance in enumerate(allowances):
        rule: list[bytes] = []
        if allowance["addresses"] is not None:
            label = f"{direction}{number}".encode() + b"\0"
            messages += _set(label, number, allowance["addresses"])
            rule += [*_ipv4(offset), _expression(b"lookup\0", attribute(1, label), attribute(2, _number(_REGISTER)))]
        if allowance["block"]:
            rule += _from_block(offset, allowance["block"])
            for block in allowance["excepted"]:
                rule += _from_block(offset, block, operation=_UNEQUAL)
        if allowance["protocol"]:
            rule += _protocol(allowance["protocol"])
        if allowance["first"]:
            rule.append(_payload(_TRANSPORT, 2, 2))
            rule.append(_compare(_AT_LEAST, struct.pack("!H", allowance["first"])))
            rule.append(_compare(_AT_MOST, struct.pack("!H", allowance["last"])))
        rules.append(rule)
    return messages + [_rule(name, rule) for rule in rules]


def _set(label: bytes, number: int, addresses: Iterable[str]) -> list[_Message]:
    """A named set of addresses that rules refer to."""
    key = [attribute(4, _number(7)), attribute(5, _number(4))]  # the key type is nft's word for ipv4_addr, unread by the kernel
    made = [attribute(1, _TABLE), attribute(2, label), attribute(3, _number(0)), *key, attribute(10, _number(number + 1))]
    elements = [_nested(1, _nested(1, attribute(1, socket.inet_aton(address)))) for address in addresses]
    messages = [_message(_NEW_SET, made, flags=_CREATE)]
    if elements:
        filled = [attribute(1, _TABLE), attribute(2, label), _nested(3, *elements)]
        messages.append(_message(_NEW_ELEMENTS, filled, flags=_CREATE))
    return messages


def _rule(chain: bytes, expressions: Iterable[bytes]) -> _Message:
    """A rule that accepts the packets that match all expressions."""
    verdict = _nested(2, _nested(2, attribute(1, _number(_ACCEPT))))
    accept = _expression(b"immediate\0", attribute(1, _number(_VERDICT)), verdict)
    listed = _nested(4, *expressions, accept)
    return _message(_NEW_RULE, [attribute(1, _TABLE), attribute(2, chain), listed], flags=_CREATE | _APPEND)


def _ipv4(offset: int) -> list[bytes]:
    """Loads the address at `offset` of an IPv4 packet."""
    return [_meta(_META_FAMILY), _compare(_EQUAL, _IPV4), _payload(_NETWORK, offset, 4)]


def _from_block(offset: int, block: str, operation: int = _EQUAL) -> list[bytes]:
    network = ipaddress.IPv4Network(block, strict=False)
    return [*_ipv4(offset), _mask(network.netmask.packed), _compare(operation, network.network_address.packed)]


def _protocol(name: str) -> list[bytes]:
    return [_meta(_META_PROTOCOL), _compare(_EQUAL, bytes([_PROTOCOLS[name]]))]


def _meta(key: int) -> bytes:
    return _expression(b"meta\0", attribute(1, _number(_REGISTER)), attribute(2, _number(key)))


def _tracking_state() -> bytes:
    return _expression(b"ct\0", attribute(1, _number(_REGISTER)), attribute(2, _number(0)))


def _payload(base: int, offset: int, length: int) -> bytes:
    places = [attribute(kind, _number(value)) for kind, value in enumerate((_REGISTER, base, offset, length), 1)]
    return _expression(b"payload\0", *places)


def _mask(mask: bytes) -> bytes:
    registers = [attribute(1, _number(_REGISTER)), attribute(2, _number(_REGISTER)), attribute(3, _number(len(mask)))]
    return _expression(b"bitwise\0", *registers, _nested(4, attribute(1, mask)), _nested(5, attribute(1, bytes(len(mask)))))


def _compare(operation: int, value: bytes) -> bytes:
    return _expression(
        b"cmp\0", attribute(1, _number(_REGISTER)), attribute(2, _number(operation)), _nested(3, attribute(1, value))
    )


def _expression(name: bytes, *attributes: bytes) -> bytes:
    return _nested(1, attribute(1, name), _nested(2, *attributes))


def _commit(messages: Sequence[_Message]) -> None:
    """Sends the messages as one transaction. Raises OSError when the kernel refuses one of them; nothing has changed then."""
    batch = [_framed(_BATCH_BEGIN, struct.pack("!BBH", 0, 0, 10))]
    batch += [_framed(_SUBSYSTEM | kind, body, flags) for kind, flags, body in messages[:-1]]
    kind, flags, body = messages[-1]
    # One acknowledgement for the whole batch if nothing fails: hundreds would not fit into the socket's buffer.
    batch += [_framed(_SUBSYSTEM | kind, body, flags | _ACK), _framed(_BATCH_END, struct.pack("!BBH", 0, 0, 10))]
    sent = b"".join(batch)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER) as channel:
        channel.bind((0, 0))
        _make_room(channel, 2 * len(sent))
        channel.send(sent)
        (code,) = struct.unpack_from("=i", channel.recv(65536), 16)
    if code:
        raise OSError(-code, os.strerror(-code))


def _make_room(channel: socket.socket, size: int) -> None:
    """Enlarges the send buffer, as a transaction is one message; without root only up to the machine's limit."""
    try:
        channel.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, size)
    except PermissionError:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)


def _message(kind: int, attributes: Iterable[bytes], *, flags: int = 0) -> _Message:
    return _Message(kind, flags, struct.pack("!BBH", _INET, 0, 0) + b"".join(attributes))


def _framed(kind: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 0, 0) + body


def _number(value: int) -> bytes:
    return struct.pack("!I", value)


def _nested(kind: int, *attributes: bytes) -> bytes:
    return attribute(kind | _NESTED, b"".join(attributes))

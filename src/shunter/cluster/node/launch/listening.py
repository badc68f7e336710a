"""Tells whether a program listens in a pod's network. It asks the kernel (sock_diag(7)), so no program notices.

`/proc/PID/net/tcp` would say the same, but takes 20 ms where the kernel has room for many connections.
"""

from __future__ import annotations

import socket
import struct

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _NLMSG_ERROR, _NLMSG_DONE = 20, 2, 3
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_TCP_LISTEN = 10
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI48x")
"""inet_diag_req_v2: family, protocol, extensions, padding, states; any addresses."""
_SOURCE = _HEADER.size + 8
"""The position of the listening address in an answer (inet_diag_msg)."""
_LOOPBACK_IPV6 = bytes(15) + b"\1"


def diagnosis_socket() -> socket.socket:
    """A socket for `has_listener`, tied to the network that the calling process is in now, even when passed to another process.
    Raises OSError where the kernel does not support it."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)


def has_listener(diagnosis: socket.socket) -> bool:
    """Whether a program in the socket's network accepts TCP connections from outside. Raises OSError when the kernel refuses the
    question."""
    return any(_is_listened_on(diagnosis, family) for family in (socket.AF_INET, socket.AF_INET6))


def _is_listened_on(diagnosis: socket.socket, family: socket.AddressFamily) -> bool:
    """Whether a program listens on an address of that family other than the loopback's."""
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _TCP_LISTEN)
    header = _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0)
    diagnosis.send(header + body)
    is_found = False
    while True:
        data = diagnosis.recv(65536)
        position = 0
        while position < len(data):
            length, kind, *_ = _HEADER.unpack_from(data, position)
            if kind == _NLMSG_DONE:
                return is_found
            if kind == _NLMSG_ERROR:
                (number,) = struct.unpack_from("=i", data, position + _HEADER.size)
                raise OSError(-number, "the kernel does not report what listens")
            source = data[position + _SOURCE : position + _SOURCE + 16]
            is_loopback = source[0] == 127 if family == socket.AF_INET else source == _LOOPBACK_IPV6
            is_found = is_found or not is_loopback
            position += (length + 3) // 4 * 4

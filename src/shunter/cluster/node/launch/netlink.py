"""The rtnetlink requests a pod network needs: bridge, veth pair, address, route, and whether a link is up.

pyroute2 does far more, but its import alone costs 0.3 s and 27 MB (measured), in a process that is forked per pod; these
messages are plain structs (rtnetlink(7)) and take 2 ms a pod.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time

_RTM_NEWLINK, _RTM_DELLINK, _RTM_GETLINK, _RTM_NEWADDR, _RTM_NEWROUTE = 16, 17, 18, 20, 24
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_EXCL, _NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
_NLMSG_ERROR = 2
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 1, 3, 10, 18, 28
_IFLA_OPERSTATE, _OPERSTATE_UP = 16, b"\x06"
_LINK_HEADER_BYTES = 16
_UP_SECONDS = 1.0
_IFLA_INFO_KIND, _IFLA_INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_OIF, _RTA_GATEWAY = 4, 5
_IFF_UP = 1
_NETLINK_ROUTE = 0


class RouteSocket:
    """A netlink socket. It stays in the network namespace it was opened in, wherever its process goes afterwards."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._sequence = 0

    def close(self) -> None:
        """Closes the socket; what was set up with it stays."""
        self._socket.close()

    def add_bridge(self, name: str, *, gateway: str) -> None:
        """Creates a bridge for that gateway and sets it up. Raises FileExistsError when the name is taken."""
        info = attribute(_IFLA_LINKINFO, attribute(_IFLA_INFO_KIND, b"bridge"))
        link = _link_header(up=True) + _name(name) + _hardware_address(gateway) + info
        self._request(_RTM_NEWLINK, _NLM_F_CREATE | _NLM_F_EXCL, link)

    def add_veth(self, name: str, *, bridge: int, peer: str, peer_address: str, peer_namespace: int) -> None:
        """Creates a veth pair: `name` here, attached to the bridge of that index and up; `peer`, still down, in that namespace,
        for that address."""
        own = _hardware_address(peer_address) + attribute(_IFLA_NET_NS_FD, struct.pack("=I", peer_namespace))
        peer_info = _link_header() + _name(peer) + own
        data = attribute(_IFLA_INFO_DATA, attribute(_VETH_INFO_PEER, peer_info))
        info = attribute(_IFLA_LINKINFO, attribute(_IFLA_INFO_KIND, b"veth") + data)
        master = attribute(_IFLA_MASTER, struct.pack("=I", bridge))
        self._request(_RTM_NEWLINK, _NLM_F_CREATE | _NLM_F_EXCL, _link_header(up=True) + _name(name) + master + info)

    def index_of(self, name: str) -> int:
        """The number of a link in this socket's network. Raises OSError."""
        index: int = struct.unpack_from("=BxHi", self._link(name))[2]
        return index

    def set_up(self, name: str) -> None:
        """Sets a link up. Its name is looked up in the network that the calling process is in now. Raises OSError."""
        self._request(_RTM_NEWLINK, 0, _link_header(index=socket.if_nametoindex(name), up=True))

    def wait_until_up(self, name: str) -> None:
        """Returns when the link carries packets, or after `_UP_SECONDS`. Until a kernel task has noticed that the other end is
        up, packets to the link are lost silently: the answer to the first packet, which costs a second. The same holds for a
        bridge that had no port before: another kernel task sets it up after that of its port."""
        deadline = time.monotonic() + _UP_SECONDS
        while self._operating_state(name) != _OPERSTATE_UP and time.monotonic() < deadline:
            time.sleep(0.001)

    def _operating_state(self, name: str) -> bytes:
        link = self._link(name)
        position = _LINK_HEADER_BYTES
        while position < len(link):
            length, kind = struct.unpack_from("=HH", link, position)
            if kind == _IFLA_OPERSTATE:
                return link[position + 4 : position + length]
            position += (length + 3) // 4 * 4
        return b""

    def _link(self, name: str) -> bytes:
        return self._request(_RTM_GETLINK, 0, _link_header() + _name(name))

    def delete_link(self, name: str) -> None:
        """Removes a link; one that is gone already is no error."""
        try:
            self._request(_RTM_DELLINK, 0, _link_header() + _name(name))
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise

    def add_address(self, name: str, address: str, prefix: int) -> None:
        """Gives a link an IPv4 address with a prefix length, such as 24. The link's name is looked up in the network that the
        calling process is in now. Raises OSError, FileExistsError if it has the address."""
        packed = socket.inet_aton(address)
        header = struct.pack("=BBBBI", socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(name))
        self._request(
            _RTM_NEWADDR,
            _NLM_F_CREATE | _NLM_F_EXCL,
            header + attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed),
        )

    def add_default_route(self, name: str, gateway: str) -> None:
        """Sends whatever has no other route over this link to an IPv4 gateway. The link's name is looked up in the network that
        the calling process is in now. Raises OSError."""
        # Family, lengths, tos, table main (254), protocol boot (3), scope universe, type unicast (1), flags.
        header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 3, 0, 1, 0)
        interface = attribute(_RTA_OIF, struct.pack("=I", socket.if_nametoindex(name)))
        self._request(
            _RTM_NEWROUTE, _NLM_F_CREATE | _NLM_F_EXCL, header + attribute(_RTA_GATEWAY, socket.inet_aton(gateway)) + interface
        )

    def _request(self, kind: int, flags: int, payload: bytes) -> bytes:
        """Sends one request and waits for its acknowledgement; raises the kernel's OSError. Returns what was asked for."""
        self._sequence += 1
        header = struct.pack("=IHHII", 16 + len(payload), kind, _NLM_F_REQUEST | _NLM_F_ACK | flags, self._sequence, 0)
        self._socket.send(header + payload)
        found = b""
        while True:
            answer = self._socket.recv(65536)
            _, answer_kind, _, sequence, _ = struct.unpack_from("=IHHII", answer)
            if sequence != self._sequence:
                continue
            if answer_kind != _NLMSG_ERROR:
                found = answer[16:]
                continue
            (code,) = struct.unpack_from("=i", answer, 16)
            if code != 0:
                raise OSError(-code, os.strerror(-code))
            return found


def _link_header(*, index: int = 0, up: bool = False) -> bytes:
    flags = _IFF_UP if up else 0
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, flags, flags)


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute of a netlink message: its length, kind and value, filled up to four bytes."""
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)


def _hardware_address(address: str) -> bytes:
    """The hardware address for an IP address, always the same. Peers that have a deleted pod's hardware address in their ARP
    cache would ignore another one for a second (`locktime` of arp(7)), so the first answers to a new pod with its IP address
    would be lost. A bridge without a fixed hardware address changes it as pods come and go."""
    return attribute(_IFLA_ADDRESS, b"\x02\x42" + socket.inet_aton(address))


def _name(name: str) -> bytes:
    return attribute(_IFLA_IFNAME, name.encode() + b"\0")

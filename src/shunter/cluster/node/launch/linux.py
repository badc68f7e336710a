"""The Linux system calls that Python's standard library lacks (3.12 has some of them; we support 3.11)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import re
import struct
import sys
from contextlib import suppress

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21

MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_MM = 35
_PR_SET_MM_MAP = 14
_CAPABILITY_VERSION = 0x20080522
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 * 1024 * 1024

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_TOP_DIRECTORY = 0x00020000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)


def mount(source: str, target: str, fstype: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError with the target as filename."""
    _check(
        _libc.mount(
            os.fsencode(source) or None,
            os.fsencode(target),
            fstype.encode() or None,
            ctypes.c_ulong(flags),
            os.fsencode(options) or None,
        ),
        target,
    )


def unmount(target: str) -> None:
    """Lazy umount2(2): out of the tree at once, freed when it is not used any more."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), target)


def mount_point(line: str) -> str:
    """The mount point in a line of /proc/PID/mountinfo, where blanks and backslashes stand as octal numbers (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), line.split(" ")[4])


def unshare(flags: int) -> None:
    """Calls unshare(2) with CLONE_ flags: moves the calling process into new namespaces, except a new PID namespace, which only
    its children enter. Raises OSError."""
    _check(_libc.unshare(flags), "unshare")


def set_namespace(path: str) -> None:
    """Enters the namespace that `path` (a file under /proc/PID/ns, or one bound to it) stands for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(descriptor, 0), path)
    finally:
        os.close(descriptor)


def pivot_root(new_root: str, put_old: str) -> None:
    """Calls pivot_root(2): `new_root` becomes the root directory, and the old one is mounted at `put_old`. Raises OSError, and
    KeyError on a processor whose number of the system call is not known here."""
    number = _PIVOT_ROOT[platform.machine()]
    _check(_libc.syscall(ctypes.c_long(number), os.fsencode(new_root), os.fsencode(put_old)), new_root)


def die_with_parent(signal_number: int) -> None:
    """Has the kernel send this signal to the calling process when its parent dies for any reason; 0 means no signal. Does nothing
    on systems other than Linux."""
    if sys.platform != "linux":
        return
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def adopt_orphans() -> None:
    """Makes orphaned descendants children of the calling process instead of init."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def set_process_name(name: str) -> None:
    """Sets the command that `ps` shows (15 characters)."""
    _check(_libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0), "prctl")


def drop_capability(number: int) -> None:
    """Takes a capability out of the bounding set: no program executed from here on can have it."""
    _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "prctl")


def keep_from_gaining_rights() -> None:
    """Keeps programs executed from here on from gaining rights by a set-user-ID bit or file capabilities (no_new_privs)."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def take_capabilities_of_root() -> None:
    """Reduces the capabilities of the calling process, which is root, to its bounding set, as executing a program would. Raises
    OSError."""
    with open("/proc/self/status") as file:
        sets = {name: int(value, 16) for name, _, value in (line.partition(":") for line in file) if name.startswith("Cap")}
    kept = sets["CapPrm"] & sets["CapBnd"]
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    halves = [(number >> shift) & 0xFFFFFFFF for shift in (0, 32) for number in (kept, kept, sets["CapInh"])]
    _check(_libc.capset(header, struct.pack("=6I", *halves)), "capset")


def set_command_line(argv: list[str], environment: dict[str, str]) -> None:
    """Sets what /proc/PID/cmdline and /proc/PID/environ show of the calling process. Raises OSError where the kernel has no
    PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)."""
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    variables = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    _libc.malloc.restype = ctypes.c_void_p
    start = _libc.malloc(ctypes.c_size_t(len(words) + len(variables)))  # never freed: the kernel reads it
    ctypes.memmove(start, words + variables, len(words) + len(variables))
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(") ")[2].split()
    # Numbers of proc(5), where the field after the name is the third.
    code_start, code_end, stack, data_start, data_end, heap = (int(fields[number - 3]) for number in (26, 27, 28, 45, 46, 47))
    _libc.sbrk.restype = ctypes.c_void_p
    places = (code_start, code_end, data_start, data_end, heap, _libc.sbrk(0), stack)
    ends = (start, start + len(words), start + len(words), start + len(words) + len(variables))
    layout = struct.pack("=11QQII", *places, *ends, 0, 0, 0xFFFFFFFF)
    size = ctypes.c_ulong(len(layout))
    _check(_libc.prctl(_PR_SET_MM, ctypes.c_ulong(_PR_SET_MM_MAP), layout, size, ctypes.c_ulong(0)), "PR_SET_MM_MAP")


def spread_subdirectories(path: str) -> None:
    """Has ext4, also below an overlay, place each new subdirectory and its contents in another area of the disk (`chattr +T`).
    Does nothing on file systems that do not support it. Raises OSError where there is no such directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            (flags,) = struct.unpack_from("=I", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8)))
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("=II", flags | _TOP_DIRECTORY, 0))
    finally:
        os.close(descriptor)


def collapse_memory() -> None:
    """Moves the calling process's own memory to huge pages where the kernel can (Linux 6.1): a fork copies a much smaller table
    then (3 ms instead of 20 with torch imported)."""
    with open("/proc/self/maps") as file:
        mappings = [line.split(None, 5) for line in file]
    for span, rights, _, _, inode, *path in mappings:
        if not rights.startswith("rw-p") or inode != "0" or path[:1] == ["[stack]\n"]:
            continue
        start, end = (int(address, 16) for address in span.split("-"))
        for address in range(-(-start // _HUGE_PAGE) * _HUGE_PAGE, end - _HUGE_PAGE + 1, _HUGE_PAGE):
            _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(_HUGE_PAGE), _MADV_COLLAPSE)

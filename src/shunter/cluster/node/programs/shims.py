"""Small programs that pods expect of their image and bare machines lack."""

from __future__ import annotations

import importlib.util
import io
import sys
import zipfile
from pathlib import Path

# The init container of v1's PyTorch workers loops over `nslookup MASTER || sleep 2`. This one waits for the name instead (our DNS
# server holds the answer back until the name appears), so that the two seconds are not paid. Output as busybox prints it.
_NSLOOKUP = """\
#!/bin/sh
# Usage: nslookup NAME. Waits for the name: at most 2 s when nothing has it, 20 s when a pod is about to get it.
for name; do case $name in -*) ;; *) break ;; esac; done
printf 'Server:\\t\\t%s\\nAddress:\\t%s:53\\n\\n' '@SERVER@' '@SERVER@'
tries=0
while [ "$tries" -lt 20 ]; do
    if found=$(@LOOKUP@); then
        echo "$found" | while read -r address kind canonical; do
            if [ "$kind" = STREAM ]; then printf 'Name:\\t%s\\nAddress: %s\\n' "${canonical:-$name}" "$address"; fi
        done
        exit 0
    fi
    tries=$((tries + 1))
    sleep 0.1
done
echo "** server can't find $name: NXDOMAIN"
exit 1
"""

# The image of the launcher's init container does just this with a kubectl of its own.
_KUBECTL_DELIVERY = """\
#!/bin/sh
set -e
directory=$(dirname "$0")
cp "$directory/kubectl" "${TARGET_DIR:-/opt/kube}/kubectl"
chmod 755 "${TARGET_DIR:-/opt/kube}/kubectl"
"""
_KUBECTL = """\
#!/bin/sh
# A Python program in a zip archive, after these lines. An image with a root of its own has to bring Python 3.11 or newer.
if [ -x '@PYTHON@' ]; then exec '@PYTHON@' -I "$0" "$@"; fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "error: kubectl as Shunter's node delivers it needs Python 3.11 or newer in this image" >&2
    exit 1
fi
exec python3 -I "$0" "$@"
"""
_KUBECTL_MODULES = (
    "shunter.cluster.node.programs.kubectl_exec",
    "shunter.kube.tls.certificates",
    "shunter.cluster.node.streams.spdy_frames",
    "shunter.cluster.node.streams.spdy_dictionary",
)
_KUBECTL_MAIN = "from shunter.cluster.node.programs.kubectl_exec import main\n\nmain()\n"

# Between the nodes of a job, whose keys are a volume; `..data` is in every volume that is made from an API object.
_KEYS = """\
#!/bin/sh
keys=
for directory in /home/mpiuser/.ssh /root/.ssh "$HOME/.ssh"; do
    if [ -z "$keys" ] && [ -L "$directory/..data" ] && [ -e "$directory/id_rsa" ]; then keys=$directory; fi
done
"""
_SSHD = """\
exec '@PYTHON@' -I -m shunter.cluster.node.ssh sshd "${keys:-/home/mpiuser/.ssh}" "$@"
"""
_SSH = """\
if [ -n "$keys" ]; then exec '@PYTHON@' -I -m shunter.cluster.node.ssh ssh "$keys" "$@"; fi
IFS=:
for directory in $PATH; do
    if [ -x "$directory/ssh" ] && ! [ "$directory/ssh" -ef "$0" ]; then exec "$directory/ssh" "$@"; fi
done
echo 'ssh: this pod has no keys of a job, and this machine no ssh' >&2
exit 127
"""


def write_shims(directory: Path, name_server: str = "") -> None:
    """Writes the programs; without a name server every name is this machine (level `plain`)."""
    directory.mkdir(parents=True, exist_ok=True)
    lookup = 'getent ahostsv4 "$name"' if name_server else 'echo "127.0.0.1 STREAM $name"'
    script = _NSLOOKUP.replace("@SERVER@", name_server or "127.0.0.1").replace("@LOOKUP@", lookup)
    _write(directory / "nslookup", script.encode())
    _write(directory / "kubectl-delivery", _KUBECTL_DELIVERY.encode())
    _write(directory / "kubectl", kubectl(sys.executable))
    for name, last in (("sshd", _SSHD), ("ssh", _SSH)):
        _write(directory / name, (_KEYS + last.replace("@PYTHON@", sys.executable)).encode())


def kubectl(python: str) -> bytes:
    """A kubectl that can exec (`kubectl_exec.py`), as one file; `python` runs it where the container has that."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        # A ZipInfo has no time of its own: the same program is the same file.
        files.writestr(zipfile.ZipInfo("__main__.py"), _KUBECTL_MAIN)
        packages = {name.rsplit(".", depth)[0] for name in _KUBECTL_MODULES for depth in range(1, name.count(".") + 1)}
        for package in sorted(packages):
            files.writestr(zipfile.ZipInfo(f"{package.replace('.', '/')}/__init__.py"), "")
        for name in _KUBECTL_MODULES:
            source = importlib.util.find_spec(name)
            assert source is not None
            assert source.origin is not None
            files.write(source.origin, f"{name.replace('.', '/')}.py")
    return _KUBECTL.replace("@PYTHON@", python).encode() + archive.getvalue()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: containers may be looking. What is there already is left: a full disk must not keep a node from
    coming back to its pods."""
    if path.exists() and path.read_bytes() == content:
        return
    fresh = path.with_name(f".{path.name}")
    fresh.write_bytes(content)
    fresh.chmod(0o755)
    fresh.replace(path)

"""Small programs that pods expect of their image and bare machines lack."""

from __future__ import annotations

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


def write_shims(directory: Path, name_server: str = "") -> None:
    """Writes the programs; without a name server every name is this machine (level `plain`)."""
    directory.mkdir(parents=True, exist_ok=True)
    lookup = 'getent ahostsv4 "$name"' if name_server else 'echo "127.0.0.1 STREAM $name"'
    script = _NSLOOKUP.replace("@SERVER@", name_server or "127.0.0.1").replace("@LOOKUP@", lookup)
    path = directory / "nslookup"
    path.write_text(script)
    path.chmod(0o755)

"""The two shell scripts of a Flux job: what is special about the job as variables, then a text that is the same for all."""

from __future__ import annotations

import shlex
from typing import NamedTuple

PORT = 8050
"""Where brokers meet."""


class Instance(NamedTuple):
    """One Flux instance: a broker on each of `nodes` pods, with `tasks` processes and `gpus` devices a pod."""

    job: str
    namespace: str
    nodes: int
    tasks: int
    gpus: int
    device: str
    queue_policy: str

    @property
    def hosts(self) -> str:
        """All pods by their host names, as Flux lists them."""
        last = self.nodes - 1
        return f"{self.job}-node-0-[0-{last}]" if last > 0 else f"{self.job}-node-0-[0]"


def init_script(instance: Instance) -> str:
    """Runs in the image that holds Flux: copies it into the shared volume and writes what brokers need to know."""
    resources = [f"--hosts={instance.hosts}", f"--cores={_range(instance.tasks)}"]
    if instance.gpus:
        resources.append(f"--gpu={_range(instance.gpus)}")
    variables = {
        "hosts": instance.hosts,
        "port": str(PORT),
        "device": instance.device,
        "domain": f"{instance.job}.{instance.namespace}.svc.cluster.local",
        "queue_policy": instance.queue_policy,
    }
    return _script(variables, {"resources": resources}, _INIT)


def entrypoint_script(instance: Instance) -> str:
    """Runs in the job's own image: starts this pod's broker, and on the first pod the command."""
    wanted = [f"-N{instance.nodes}", f"-n{instance.nodes * instance.tasks}"]
    if instance.gpus >= instance.tasks > 0:
        wanted.append(f"-g{instance.gpus // instance.tasks}")
    return _script({"main_host": f"{instance.job}-node-0-0"}, {"wanted": wanted}, _ENTRYPOINT)


def _range(count: int) -> str:
    return f"0-{count - 1}" if count > 1 else "0"


def _script(variables: dict[str, str], lists: dict[str, list[str]], body: str) -> str:
    lines = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += [f"{name}=({shlex.join(values)})" for name, values in lists.items()]
    return "\n".join(["#!/bin/bash", "set -eu", *lines, body])


_INIT = """
flux=/mnt/flux
view=$flux/view
config=$view/etc/flux/config

echo "Copying Flux to $flux"
mkdir -p "$view" "$flux/software"
cp -R /opt/view/. "$view/"
if [ -d /opt/software ]; then cp -R /opt/software/. "$flux/software/"; fi

mkdir -p "$config" "$view/etc/flux/system" "$view/run/flux" "$view/var/lib/flux"
"$view/bin/flux" R encode "${resources[@]}" > "$view/etc/flux/system/R"

cat > "$config/broker.toml" <<END
[access]
allow-guest-user = true
allow-root-owner = true

[exec]
allowed-users = ["root"]

[sched-fluxion-qmanager]
queue-policy = "$queue_policy"

[resource]
path = "$view/etc/flux/system/R"
noverify = true

[bootstrap]
curve_cert = "$view/curve/curve.cert"
default_port = $port
default_bind = "tcp://$device:%p"
default_connect = "tcp://%h.$domain:%p"
hosts = [ { host = "$hosts" } ]
END
"""

_ENTRYPOINT = """
flux=/mnt/flux
view=$flux/view

# The first argument is a command line, what follows are further arguments.
eval "command=(${1:-})"
shift || true

# Programs of the view look for each other below /opt/software.
cp -R "$flux/software/." /opt/software/
export PATH="$view/bin:$PATH"
export FLUX_URI="local://$view/run/flux/local"

# Brokers accept a certificate only from a file that nobody else may read.
mkdir -p "$view/curve"
cp /curve/curve.cert "$view/curve/curve.cert"
chmod 400 "$view/curve/curve.cert"

broker=(
    flux broker "--config-path=$view/etc/flux/config"
    "-Srundir=$view/run/flux" "-Slocal-uri=$FLUX_URI" "-Sstatedir=$view/var/lib/flux"
    -Stbon.fanout=256 -Slog-stderr-level=6 -Slog-stderr-mode=local
)
if [ "$(hostname)" = "$main_host" ]; then
    # The broker ends with the command and takes its exit code over; the others then end as well.
    exec "${broker[@]}" flux submit "${wanted[@]}" --quiet --watch "${command[@]}" "$@"
fi
exec "${broker[@]}"
"""

"""What a pod reads about names of hosts: /etc/hosts (hostAliases) and /etc/resolv.conf (dnsPolicy, dnsConfig). Pure."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.cluster.node.net.names import search_domains, service_name


def pod_domain(pod: Json) -> str:
    """What follows the pod's host name in its full name: the name of the Service that is its subdomain; empty without one."""
    spec, subdomain = pod["spec"], pod["spec"].get("subdomain")
    if not subdomain or spec.get("hostnameOverride"):
        return ""
    return service_name(subdomain, pod["metadata"].get("namespace", "default"))


def hosts_file(pod: Json, hostname: str, address: str) -> str:
    """/etc/hosts as kubelet writes it."""
    lines = [
        "# Kubernetes-managed hosts file (shunter).",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
    ]
    if domain := pod_domain(pod):
        lines.append(f"{address}\t{hostname}.{domain}\t{hostname}")
    else:
        lines.append(f"{address}\t{hostname}")
    lines.extend(f"{alias['ip']}\t{chr(9).join(alias.get('hostnames') or ())}" for alias in pod["spec"].get("hostAliases") or ())
    return "\n".join(lines) + "\n"


def resolver_file(pod: Json, name_server: str) -> str:
    """/etc/resolv.conf for dnsPolicy ClusterFirst and None, dnsConfig merged in."""
    config = pod["spec"].get("dnsConfig") or {}
    own = pod["spec"].get("dnsPolicy") == "None"
    servers = [] if own else [name_server]
    searches = [] if own else list(search_domains(pod["metadata"].get("namespace", "default")))
    # A lost answer costs a second here instead of five.
    options = {} if own else {"ndots": "5", "timeout": "1", "attempts": "2"}
    options.update({option["name"]: option.get("value", "") for option in config.get("options") or ()})
    lines = [f"nameserver {server}" for server in (*servers, *(config.get("nameservers") or ()))[:3]]
    searches += [domain for domain in config.get("searches") or () if domain not in searches]
    if searches:
        lines.append("search " + " ".join(searches))
    if options:
        lines.append("options " + " ".join(f"{name}:{value}" if value else name for name, value in options.items()))
    return "\n".join(lines) + "\n"

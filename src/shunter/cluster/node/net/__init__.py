"""The network of the pods on this node: addresses, names and the way out.

network.py            the subnet, and which address a pod gets
etc_files.py          a pod's /etc/hosts (hostAliases) and /etc/resolv.conf (dnsPolicy, dnsConfig)
names.py, dns.py      which names resolve to which pods; the server that answers
starting_pods.py      when the address of a pod that has just started is published
external_services.py  names and ports outside the cluster that pods may reach (`--reach`)
api_server_proxy.py   connections of pods to the API server

Tests: tests/cluster/node/net.
"""

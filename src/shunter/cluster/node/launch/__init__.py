"""The launcher: a small process, started before any pod, that forks a supervisor for every container.

This package imports the standard library only, and little of it: a fork must be cheap, and so must its start. The agent talks to
it through `..launcher`; they share the file layout in `attempt`.

zygote.py, forking.py, requests.py     the launcher; a process that forks for each request; the form of requests
supervisor.py                          one run of a container: start, output, signals, exit code, termination message
attempt.py                             its directory: spec.json, state.json
log_writer.py, standard_streams.py     lines in the CRI log form, rotation; pipes and terminals
attachments.py                         clients of `kubectl attach`
command.py, execution.py, entering.py, executable.py    commands in a running container: exec; probes and hooks
sandbox.py, rootfs.py, user_namespace.py    namespaces and mounts; root directory; all of it without root
cgroup_files.py, netlink.py, linux.py  limits of resources; addresses and links; system calls
packet_filter.py, sockets.py, listening.py    NetworkPolicies in a pod's network; sockets there; whether a port is listened on
warm_parent.py                         an interpreter that has imported torch already, and forks containers
warm_program.py, warm_shell.py         the fork becomes the program; the shell before it
removal.py                             mounts and files of a pod, taken away

Tests: tests/cluster/node/launch; warm_*.py in tests/cluster/node/test_warm_start.py, user_namespace.py and packet_filter.py in
test_user_namespace.py and test_network_policies.py there, execution.py and command.py in test_pods.py and test_streams.py;
attempt.py in test_supervisor.py, listening.py in tests/cluster/node/net/test_starting_pods.py, entering.py in
tests/cluster/node/test_network_policies.py, executable.py in test_supervisor.py, netlink.py in test_sandbox.py, requests.py and
zygote.py in test_forking.py, standard_streams.py in test_attachments.py, sockets.py in tests/cluster/node/net/test_dns.py.
"""

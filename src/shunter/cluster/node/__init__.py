"""The embedded node: pods as processes.

node.py                     watches the pods bound to it, and gives each a worker (pod/)
pod/                        the life of a pod: order, restarts, probes, hooks, status
content/                    what a container finds: image, variables, volumes
runtime/, launch/           how its processes run: levels of isolation, the launcher
net/                        addresses and names of pods
server/, streams/           logs and usage; exec, attach, port-forward
gpus.py, resources.py       which GPUs a container gets; requests and capacity
registration.py             the Node object, its taint and heartbeat; which pods it refuses (Refused)
draining.py                 emptying a node
ssh/, programs/             what the node brings into pods
teardown.py, layout.py      removing what is left; where it all is on disk
process.py                  `shunter node`
retry_times.py              when what failed is tried again
descriptors.py, file_watch.py    pipes and terminals in the event loop; waiting for a file to change

Tests: tests/cluster/node; whole pods in test_pods.py there, teardown in test_user_namespace.py and runtime/test_namespaces.py;
descriptors.py in tests/cluster/node/test_streams.py.
"""

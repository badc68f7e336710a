"""exec, attach and port-forward: the part of kubelet's server that carries bytes both ways.

Two transports lead here, and both end in the same code. A real kube-apiserver speaks SPDY/3.1 to the node; the embedded one
passes on what the client speaks, which is WebSocket for a current kubectl, SPDY for an old one.
"""

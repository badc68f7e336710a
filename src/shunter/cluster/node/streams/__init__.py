"""exec, attach and port-forward: the part of kubelet's server that carries bytes both ways.

Two transports lead here, and both end in the same code. A real kube-apiserver speaks SPDY/3.1 to the node; the embedded one
passes on what the client speaks, which is WebSocket for a current kubectl, SPDY for an old one.

endpoints.py                             the paths of exec, attach and portForward, and what is refused there
remote_command.py                        the protocols of exec and attach, and the status at the end: the exit code
sessions.py                              bytes between client and command until it ends, or the client goes
port_forward.py                          connections to a pod's ports
spdy_command.py, websocket_command.py    exec and attach over each transport; websocket_ports.py: port-forward over WebSocket
spdy.py, spdy_frames.py, spdy_dictionary.py    SPDY/3.1: streams; frames as bytes
byte_stream.py, inbox.py                 one connection; how much of what it sends is kept in memory

Tests: tests/cluster/node/streams; whole commands in tests/cluster/node/test_streams.py; byte_stream.py and inbox.py in
test_spdy.py there, spdy_dictionary.py in test_spdy_frames.py, spdy_command.py, websocket_command.py and websocket_ports.py in
tests/cluster/node/test_streams.py, endpoints.py and sessions.py in tests/cluster/node/server/test_kubelet_api.py.
"""

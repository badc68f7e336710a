"""HTTP/1.1: a client and a server for many small requests.

client.py, connection.py, proxy.py                 the client: kept connections; $HTTPS_PROXY and $NO_PROXY
server.py, server_connection.py, limits.py         the server, and what one client may use of it
head.py, chunks.py, request.py, response.py        parts of a request and an answer
connection_streams.py, websocket.py                after an upgrade

Tests: tests/kube/http; proxy in tests/kube/test_kubeconfig.py; connection.py in test_client.py there, connection_streams.py in
test_websocket.py, request.py, response.py and server_connection.py in test_server.py and test_limits.py.
"""

"""A pod that asks the API server for its version, with what every container is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

_SCRIPT = """
import json, os, ssl, urllib.request
server = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
context = ssl.create_default_context(cadata=os.environ["CA"])
print(json.load(urllib.request.urlopen(server + "/version", context=context))["major"])
"""


async def major_version_seen_by_a_pod(node: NodeUnderTest, name: str) -> str:
    """What the pod printed; its TLS verifies name and authority of the server."""
    authority = {"name": "CA", "value": node.connection.tls.ca.decode()}
    main = {"name": "main", "image": "any", "command": ["python", "-c", _SCRIPT], "env": [authority]}
    await node.create(name, {"restartPolicy": "Never", "containers": [main]})
    await node.finished(name)
    return await node.log(name)

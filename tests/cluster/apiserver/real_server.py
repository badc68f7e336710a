"""A real API server, asked when answers are recorded. No test needs one."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import yaml

Json = dict[str, Any]


class Server:
    """A real API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            file.flush()
            self.context.load_cert_chain(file.name)

    def send(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> tuple[int, Json]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context) as response:
                return response.status, json.loads(response.read())
        except HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else {"message": text}

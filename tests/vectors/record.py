"""Records what a real API server answers to the cases:

    PYTHONPATH=tests:conformance .venv/bin/python tests/vectors/record.py [FILE...]      (or: make vectors)
    PYTHONPATH=tests .venv/bin/python tests/vectors/record.py --kubeconfig KUBECONFIG FILE...

Starts the control plane of conformance/ itself unless it is given one; files with `controllers: true` need one whose
kube-controller-manager and JobSet controller run, the others one where they do not.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import ssl
import tempfile
from pathlib import Path

import aiohttp
import yaml

from vectors.answers import write
from vectors.case import CaseFile, Json, case_files, load
from vectors.differences import differences
from vectors.hooks import serving
from vectors.play import Server, play

CACHES = 2.0
_TRIES = 5
QUIET = ("etcd", "kube-apiserver")
CONTROLLED = (*QUIET, "kube-controller-manager", "jobset")


def session(kubeconfig: Path, *, certificate: bool = True) -> aiohttp.ClientSession:
    """A session with the client certificate of a kubeconfig, or without."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        if certificate:
            context.load_cert_chain(pair.name)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    return aiohttp.ClientSession(cluster["server"], connector=connector, read_bufsize=2**22)


async def record(kubeconfig: Path, files: list[str]) -> None:
    async with session(kubeconfig) as client, session(kubeconfig, certificate=False) as stranger, serving() as hooks:
        for file in files:
            answers = await _stable_answers(Server(client, hooks, stranger, caches=CACHES), load(file))
            write(file, answers)
            print(f"{file}: {len(answers)} cases", flush=True)


async def _stable_answers(server: Server, file: CaseFile) -> dict[str, list[Json]]:
    """Answers that were given twice in a row: caches of the server may lag behind, the more so on a busy machine."""
    before = await play(server, file)
    for _ in range(_TRIES):
        answers = await play(server, file)
        changing = [name for name in answers if answers[name] != before[name]]
        if not changing:
            return answers
        for name in changing:
            first = next(differences(before[name], answers[name]))
            print(f"{file.name}/{name}: asking again, as this changed: {first}", flush=True)
        before = answers
    raise RuntimeError(f"{file.name}: the answers differ from run to run; make the normaliser or the cases stable")


def main() -> None:
    parser = argparse.ArgumentParser(description="Records what a real API server answers.")
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    files = options.files or case_files()
    if options.kubeconfig:
        asyncio.run(record(options.kubeconfig, files))
        return
    from control_plane import ControlPlane

    for parts, controllers in ((QUIET, False), (CONTROLLED, True)):
        chosen = [file for file in files if load(file).controllers is controllers]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as directory, ControlPlane(Path(directory), parts=parts, plain_pods=True) as plane:
            asyncio.run(record(plane.kubeconfig, chosen))


if __name__ == "__main__":
    main()

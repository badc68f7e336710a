"""Shows a training's progress in `shunter jobs` and in its TrainJob's status. Copy this file beside your script.

    progress = Progress()
    for step in range(1, steps + 1):
        loss = train(step)
        progress.report(step=step, steps=steps, loss=loss)

Rank 0 sends reports from a background thread, at most one in five seconds and always the newest. What cannot be sent is dropped:
a server that is slow or unreachable, or that refuses, never slows or stops the training. Without a server (a PyTorchJob, a
laptop) nothing happens. Needs Python 3.8, and nothing else.
"""

import atexit
import json
import os
import ssl
import threading
import time
import urllib.request
from collections import deque
from datetime import datetime, timezone
from http.client import HTTPException

PERIOD, TIMEOUT, PAUSE = 5.0, 5.0, 60.0
"""Seconds between two reports; that a report may take; of silence after one that failed."""


class Progress:
    def __init__(self, environment=os.environ):
        read = environment.get
        self._url = read("KUBEFLOW_TRAINER_SERVER_URL") if read("RANK", "0") == "0" else None
        self._token, self._authority = read("KUBEFLOW_TRAINER_SERVER_TOKEN"), read("KUBEFLOW_TRAINER_SERVER_CA_CERT")
        self._metrics, self._saved, self._notes, self._pace = {}, {}, {}, deque(maxlen=100)
        self._changed, self._closing = threading.Event(), threading.Event()
        self._sender = threading.Thread(target=self._send_newest, name="progress", daemon=True)
        if self._url:
            self._sender.start()
            atexit.register(self.close)

    def report(self, step, steps=None, **metrics):
        """Reports that `step` of `steps` is done, with other metrics of it, such as its loss. Numbers or tensors."""
        if not self._url:
            return
        self._pace.append((time.monotonic(), step))
        values = {"step": step, **({} if steps is None else {"steps": steps}), **metrics}
        # Without its graph, which would be kept; a value on a GPU is waited for by the thread, not by the training.
        values = {name: value.detach() if hasattr(value, "detach") else value for name, value in values.items()}
        self._metrics = {**self._metrics, **values}
        self._changed.set()

    def checkpoint(self, step, seconds=None, every=None):
        """Reports that the checkpoint of `step` is complete, how long saving took, and how many steps lie between two. Without
        `seconds` it is one that was loaded, of unknown age."""
        saved = {"checkpoint.step": step}
        if seconds is not None:
            saved.update({"checkpoint.seconds": round(seconds, 2), "checkpoint.time": round(time.time())})
        # Apart from what `report` holds: saves in the background are told by a thread of theirs.
        self._saved = {**saved, **({} if every is None else {"checkpoint.every": every})}
        self._changed.set()

    def note(self, name, text):
        """Sets a text of at most 64 characters that every report carries."""
        self._notes = {**self._notes, name: text}
        self._changed.set()

    def close(self):
        """Sends the newest values; takes no longer than one report may."""
        self._closing.set()
        if self._sender.is_alive():
            self._sender.join(TIMEOUT)

    def _send_newest(self):
        while True:
            while not self._changed.wait(0.2):
                if self._closing.is_set():
                    return
            self._changed.clear()
            sent = self._send({**self._metrics, **self._saved})
            if self._closing.wait(PERIOD if sent else PAUSE) and not (sent and self._changed.is_set()):
                return

    def _send(self, metrics):
        try:
            # "nan" says something; a number has at most 64 characters in the status.
            shown = [{"name": name, "value": f"{float(value):.10g}"} for name, value in metrics.items()]
            shown += [{"name": name, "value": text} for name, text in self._notes.items()]
            status = {"lastUpdatedTime": datetime.now(timezone.utc).isoformat(), "metrics": shown}  # noqa: UP017 (3.11)
            step, steps = metrics.get("step", 0), metrics.get("steps")
            if steps:
                status["progressPercentage"] = min(100, max(0, 100 * step // steps))
                if (seconds := self._seconds_a_step()) is not None:
                    status["estimatedRemainingSeconds"] = max(0, round((steps - step) * seconds))
            with open(self._token) as file:  # kept fresh by the kubelet
                headers = {"Authorization": f"Bearer {file.read().strip()}", "Content-Type": "application/json"}
            trusted = ssl.create_default_context(cafile=self._authority or None)
            trusted.verify_flags = (trusted.verify_flags & ~ssl.VERIFY_X509_STRICT) | ssl.VERIFY_X509_PARTIAL_CHAIN
            request = urllib.request.Request(self._url, json.dumps({"trainerStatus": status}).encode(), headers, method="POST")
            # No proxy: the server is in the cluster.
            handlers = urllib.request.HTTPSHandler(context=trusted), urllib.request.ProxyHandler({})
            urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT).close()
        except (OSError, HTTPException, ValueError, TypeError, RuntimeError):  # RuntimeError: a tensor of a GPU that failed
            return False
        return True

    def _seconds_a_step(self):
        (first, begun), (last, done) = self._pace[0], self._pace[-1]
        return (last - first) / (done - begun) if done > begun else None

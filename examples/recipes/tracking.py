"""Logs a training to MLflow, by rank 0, without ever slowing or stopping it. Copy this file beside your script.

    tracking = Tracking({"lr": 3e-4, "batch": 64})
    for step in range(1, steps + 1):
        loss = train(step)
        tracking.log(step, loss=loss)
    tracking.close()

The environment says where MLflow is and who this is; `shunter run --mlflow URI` sets it: MLFLOW_TRACKING_URI, without which
nothing happens, MLFLOW_EXPERIMENT_NAME, MLFLOW_RUN_NAME, SHUNTER_JOB (namespace/name) and SHUNTER_JOB_ID. All starts of one job
go on with one run. What is logged goes to a process of its own every two seconds, and that one talks to the server: an import of
mlflow (`pip install mlflow-skinny`) holds up all threads of a process for seconds. While the server is away, up to 20,000 steps
wait. MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=true adds system metrics of rank 0's node.
"""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from contextlib import suppress
from itertools import islice
from urllib.parse import urlsplit

PERIOD, SYSTEM_PERIOD, LONGEST_PAUSE, CLOSE = 2.0, 10.0, 30.0, 10.0
"""Seconds between two batches; between system metrics; between two tries while the server is away; that `close` takes at most."""
WAITING_STEPS, BATCH_STEPS, BATCH_METRICS, BATCH_PARAMETERS = 20_000, 500, 1000, 100
"""MLflow takes at most 1000 metrics and 100 parameters in one request."""
LONGEST_VALUE = 6000
DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",  # seconds, for 120
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # for 7, with growing pauses: minutes for a server that is away
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


class Tracking:
    """`progress`, a Progress of progress.py, is told the run, for `shunter describe`."""

    def __init__(self, parameters=None, progress=None):
        self._waiting, self._dropped, self._status, self._closing = deque(), 0, "", threading.Event()
        self._is_on = bool(os.environ.get("MLFLOW_TRACKING_URI")) and os.environ.get("RANK", "0") == "0"
        if not self._is_on:
            return
        try:
            self._process = start_sender()
        except OSError as error:
            self._is_on = False
            say(f"{error}, so nothing is logged")
            return
        texts = {str(name): str(value)[:LONGEST_VALUE] for name, value in (parameters or {}).items()}
        begin = {"program": os.path.basename(sys.argv[0]), "parameters": texts}
        self._passer = threading.Thread(target=self._pass_on, args=(begin,), name="tracking", daemon=True)
        self._passer.start()
        threading.Thread(target=self._hear, args=(progress,), name="tracking-run", daemon=True).start()
        atexit.register(self.close, "FAILED")

    def log(self, step, **metrics):
        """Numbers or tensors of a step. A step that the run has from before a restart is not logged again."""
        if not self._is_on:
            return
        if len(self._waiting) >= WAITING_STEPS:
            self._dropped += len(metrics)
            return
        # A copy, as the training may write into its tensor; a value on a GPU is waited for by the thread.
        values = {name: value.detach().clone() if hasattr(value, "detach") else value for name, value in metrics.items()}
        self._waiting.append((step, round(time.time() * 1000), values))

    def close(self, status=None):
        """Sends what waits, within ten seconds, and how the run ended: FINISHED, FAILED or KILLED, by default as the exception
        says that is being handled or has ended the program. A run that is never closed ends as FAILED; as KILLED if its process
        was killed."""
        if not self._is_on or self._closing.is_set():
            return
        self._status = status or _status(sys.exc_info()[1] or getattr(sys, "last_value", None))
        deadline = time.monotonic() + CLOSE
        self._closing.set()
        self._passer.join(CLOSE)
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            say("not all metrics were sent in time")
        if self._dropped:
            say(f"{self._dropped} metrics could not be passed on")

    def _pass_on(self, begin):
        """To the other process, which takes everything at once."""
        try:
            self._write(begin)
            while not self._closing.wait(PERIOD):
                self._write_steps()
            self._write_steps()
            self._write({"end": self._status})
            self._process.stdin.close()
        except OSError:
            self._is_on = False
            self._waiting.clear()
            if (code := self._process.wait()) != 0:  # else it has said why
                say(f"the process that sends metrics ended with {code}, so nothing more is logged")

    def _write_steps(self):
        while self._waiting:
            step, at, metrics = self._waiting.popleft()
            numbers = dict(self._numbers({"step": step, **metrics}))
            if "step" in numbers:
                self._write({"step": int(numbers.pop("step")), "at": at, "metrics": numbers})

    def _write(self, message):
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        if not self._waiting:
            self._process.stdin.flush()

    def _numbers(self, metrics):
        for name, value in metrics.items():
            try:
                yield name, float(value)
            except (TypeError, ValueError, RuntimeError) as error:  # of many elements, or of a lost GPU
                self._dropped += 1
                say(f"{name} is not a number: {_text(error)}")

    def _hear(self, progress):
        for line in self._process.stdout:
            experiment, run = line.decode().split()
            if progress is not None:
                progress.note("mlflow.experiment", experiment)
                progress.note("mlflow.run", run)


def start_sender():
    """The process that talks to the server. It outlives a training that is killed, by ten seconds, to say so in the run."""
    command = [sys.executable, os.path.abspath(__file__)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


class Sender:
    """Takes what a training passes on, line by line, and sends it when it can. Writes the run's ids to `ids`."""

    def __init__(self, lines, ids):
        self._lines, self._ids, self._begin = lines, ids, {}
        self._waiting, self._lost, self._failed = deque(), 0, 0
        self._status, self._changed, self._closing, self._is_late = "", threading.Event(), threading.Event(), False

    def run(self):
        """Returns when everything is sent after the training's end, or can never be. Ends the process when it takes too long."""
        threading.Thread(target=self._read, daemon=True).start()
        start, run, failures = uuid.uuid4().hex, None, 0
        while not self._is_late:
            self._changed.wait(SYSTEM_PERIOD)
            self._changed.clear()
            is_last = self._closing.is_set()
            if not self._begin:  # killed before it had begun
                return
            try:
                run = run or self._found_run(start)
                self._send_waiting(run)
                if is_last:
                    run.end(self._status)
                    break
                failures = 0
            except ImportError as error:
                say(f"{error}, so nothing is logged: pip install mlflow-skinny")
                return
            except Exception as error:  # whatever it is, the server may be back later
                failures += 1
                self._failed += 1
                if failures == 1:
                    say(f"{_text(error)}; training continues, and at most {WAITING_STEPS:,} steps are buffered")
                self._closing.wait(min(2.0 ** (failures - 1), LONGEST_PAUSE))
                if is_last:
                    time.sleep(0.5)
                self._changed.set()
        if not self._is_late:
            self._say_unsent()

    def _read(self):
        for line in self._lines:
            message = json.loads(line)
            if "parameters" in message:
                self._begin = message
            elif "end" in message:
                self._status = message["end"]
            elif len(self._waiting) < WAITING_STEPS:
                self._waiting.append(message)
            else:
                self._lost += len(message["metrics"])
            self._changed.set()
        self._status = self._status or "KILLED"
        self._closing.set()
        self._changed.set()
        time.sleep(CLOSE - 1)
        self._is_late = True
        self._say_unsent()
        leave(0)

    def _found_run(self, start):
        run = _Run(self._begin["program"], self._begin["parameters"], start)
        say(f"run {run.name}: {run.place}")
        with suppress(OSError):  # the training was killed
            self._ids.write(f"{run.experiment} {run.id}\n".encode())
            self._ids.flush()
        return run

    def _send_waiting(self, run):
        if (sample := run.system_metrics()) is not None:
            self._waiting.append(sample)
        while steps := list(islice(self._waiting, BATCH_STEPS)):
            self._lost += run.log(steps)
            for _ in steps:
                self._waiting.popleft()

    def _say_unsent(self):
        if unsent := self._lost + sum(len(message["metrics"]) for message in tuple(self._waiting)):
            say(f"{unsent} metrics were not sent; {self._failed} attempts failed")


class _Run:
    """The job's run. Everything here may raise what mlflow raises, and may be done again then."""

    def __init__(self, program, parameters, start):
        """`start` names this start, for a program that is no job's."""
        from mlflow.tracking import MlflowClient

        read = os.environ.get
        self._client, self._system, self._sampled = MlflowClient(), None, 0.0
        self.name = read("MLFLOW_RUN_NAME") or program
        self.experiment = read("MLFLOW_EXPERIMENT_ID") or self._experiment(read("MLFLOW_EXPERIMENT_NAME") or "Default")
        tags = {"shunter.dev/job": read("SHUNTER_JOB"), "shunter.dev/job-id": read("SHUNTER_JOB_ID")}
        tags = {name: value for name, value in tags.items() if value} or {"shunter.dev/start": start}
        found = self._found(tags)
        if found is None:
            found = self._client.create_run(self.experiment, run_name=self.name, tags={"mlflow.source.name": program, **tags})
        elif found.info.status != "RUNNING":
            self._client.update_run(found.info.run_id, "RUNNING")
        self.id, self._logged = found.info.run_id, {metric.key: metric.step for metric in found.data.to_proto().metrics}
        self.place = _page(f"#/experiments/{self.experiment}/runs/{self.id}")
        self._log_parameters(parameters, found.data.params)
        if read("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() in ("true", "1"):
            self._begin_system_metrics()

    def _experiment(self, name):
        found = self._client.get_experiment_by_name(name)
        return found.experiment_id if found else self._client.create_experiment(name)

    def _found(self, tags):
        """The run that an earlier start of this job made, or that was made here when only the answer was lost."""
        if known := os.environ.get("MLFLOW_RUN_ID"):
            return self._client.get_run(known)
        words = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
        runs = self._client.search_runs([self.experiment], words, max_results=1)
        return runs[0] if runs else None

    def _log_parameters(self, parameters, present):
        """Those that are missing: a parameter of a run can never be changed."""
        from mlflow.entities import Param

        missing = []
        for name, text in parameters.items():
            if name not in present:
                missing.append(Param(name, text))
            elif present[name] != text:
                say(f"parameter {name} stays {present[name]} in the run, although this start has {text}")
        for start in range(0, len(missing), BATCH_PARAMETERS):
            self._log_batch("params", missing[start : start + BATCH_PARAMETERS])

    def log(self, steps):
        """Sends the metrics of some steps, unless the run has them; returns how many can never be sent."""
        from mlflow.entities import Metric

        metrics, lost = [], 0
        for one in steps:
            new = {name: value for name, value in one["metrics"].items() if one["step"] > self._logged.get(name, -1)}
            metrics += [Metric(name, value, one["at"], one["step"]) for name, value in new.items()]
        for start in range(0, len(metrics), BATCH_METRICS):
            lost += self._log_batch("metrics", metrics[start : start + BATCH_METRICS])
        return lost

    def _log_batch(self, kind, items):
        """Sends metrics or params; returns how many were left out because the server never takes them, as for a bad name."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.log_batch(self.id, **{kind: items})
        except MlflowException as error:
            if error.error_code != "INVALID_PARAMETER_VALUE":
                raise
            if len(items) == 1:
                say(f"{items[0].key} is not logged: {_text(error)}")
                return 1
            half = len(items) // 2
            return self._log_batch(kind, items[:half]) + self._log_batch(kind, items[half:])
        return 0

    def _begin_system_metrics(self):
        try:
            from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

            self._system = SystemMetricsMonitor(self.id)  # never started: its thread ends with the first request that fails
        except Exception as error:  # psutil is missing
            say(f"no system metrics: {_text(error)}")
        self._sample = max((step for name, step in self._logged.items() if name.startswith("system/")), default=-1)

    def system_metrics(self):
        """A sample of processor, memory, disk, network and GPUs when one is due; its step counts samples."""
        if self._system is None or time.monotonic() < self._sampled + SYSTEM_PERIOD:
            return None
        self._system.collect_metrics()
        values = {f"system/{name}": value for name, value in self._system.aggregate_metrics().items()}
        for monitor in self._system.monitors:
            monitor.clear_metrics()
        self._sampled, self._sample = time.monotonic(), self._sample + 1
        return {"step": self._sample, "at": round(time.time() * 1000), "metrics": values}

    def end(self, status):
        self._client.set_terminated(self.id, status)


def _status(error):
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "FINISHED"
    is_stop = isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and error.code in (130, 143))
    return "KILLED" if is_stop else "FAILED"


def _text(error):
    """In one line, and without a password that somebody wrote into the address. Of a long one the end says what went wrong."""
    line = re.sub(r"//[^/@ ]*@", "//", " ".join(str(error).split()))
    if "Invalid Host header" in line:
        name = urlsplit(os.environ["MLFLOW_TRACKING_URI"]).netloc.rpartition("@")[2]
        return f"the server does not answer to this name; start it with: mlflow server --allowed-hosts {name}"
    return f"{type(error).__name__}: {line if len(line) <= 250 else f'{line[:100]} ... {line[-145:]}'}"


def _page(page):
    """Where a person finds a page of the server. The name of a Service means nothing to a browser."""
    server, (namespace, _, job) = os.environ["MLFLOW_TRACKING_URI"], os.environ.get("SHUNTER_JOB", "").partition("/")
    if job and (urlsplit(server).hostname or "").endswith((".svc", ".svc.cluster.local")):
        return f"its page is in shunter describe {job} -n {namespace}"
    return f"{server.rstrip('/')}/{page}"


_said = set()


def say(text):
    """On standard error, once."""
    if text not in _said:
        _said.add(text)
        print(f"mlflow: {text}", file=sys.stderr, flush=True)


leave = os._exit

if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # the training says when it is over
        signal.signal(number, signal.SIG_IGN)
    os.nice(5)
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    ids = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is no id
    Sender(sys.stdin.buffer, ids).run()
    leave(0)  # a thread may still read

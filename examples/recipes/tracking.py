"""Logs a training to MLflow, by rank 0, without ever slowing or stopping it. Copy this file beside your script.

    tracking = Tracking({"lr": 3e-4, "batch": 64})
    for step in range(1, steps + 1):
        loss = train(step)
        tracking.log(step, loss=loss)
    tracking.close()

The environment says where MLflow is and who this is; `shunter run --mlflow URI` sets it: MLFLOW_TRACKING_URI, without which
nothing happens, MLFLOW_EXPERIMENT_NAME, MLFLOW_RUN_NAME, SHUNTER_JOB (namespace/name) and SHUNTER_JOB_ID. All starts of one job
go on with one run. A thread imports mlflow (`pip install mlflow-skinny`) and sends what was logged every two seconds; while the
server is away, up to 20,000 steps wait. MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=true adds system metrics of rank 0's node.
"""

import atexit
import os
import re
import sys
import threading
import time
import uuid
from collections import deque
from itertools import islice

PERIOD, LONGEST_PAUSE, CLOSE, SYSTEM_PERIOD = 2.0, 30.0, 10.0, 10.0
"""Seconds between two batches; between two tries while the server is away; that `close` takes at most; between system metrics."""
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
        self._parameters, self._progress = dict(parameters or {}), progress
        self._waiting, self._dropped, self._lost, self._failed = deque(), 0, 0, 0
        self._said, self._status = set(), ""
        self._is_on = bool(os.environ.get("MLFLOW_TRACKING_URI")) and os.environ.get("RANK", "0") == "0"
        self._closing = threading.Event()
        self._sender = threading.Thread(target=self._send_all, name="tracking", daemon=True)
        if self._is_on:
            for name, value in DEFAULTS.items():
                os.environ.setdefault(name, value)
            self._sender.start()
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
        says that is being handled. A run that is never closed ends as FAILED, or stays RUNNING if its process was killed."""
        if not self._is_on or self._closing.is_set():
            return
        self._status = status or _status(sys.exc_info()[1])
        self._closing.set()
        self._sender.join(CLOSE)
        unsent = self._dropped + self._lost + sum(len(metrics) for _, _, metrics in tuple(self._waiting))
        if unsent:
            self._say(f"{unsent} metrics were not sent; {self._failed} attempts failed")

    def _send_all(self):
        start, run, pause, failures, deadline = uuid.uuid4().hex, None, 0.0, 0, None
        while deadline is None or time.monotonic() < deadline:
            is_closing = self._closing.wait(pause)
            if is_closing and deadline is None:
                deadline = time.monotonic() + CLOSE
            try:
                run = run or self._begin(start)
                self._send_waiting(run)
                if is_closing:
                    run.end(self._status)
                    return
                pause, failures = PERIOD, 0
            except ImportError as error:
                self._say(f"{error}, so nothing is logged: pip install mlflow-skinny")
                self._is_on = False
                self._waiting.clear()
                return
            except Exception as error:  # whatever it is, the training goes on
                failures += 1
                self._failed += 1
                if failures == 1:
                    self._say(f"{_text(error)}; the training goes on, and {WAITING_STEPS:,} steps wait at most")
                pause = min(PERIOD * 2**failures, LONGEST_PAUSE)
                if is_closing:
                    time.sleep(0.5)

    def _begin(self, start):
        run = _Run(self._parameters, start, self._say)
        self._say(f"run {run.name}: {run.address}")
        if self._progress is not None:
            self._progress.note("mlflow.experiment", run.experiment)
            self._progress.note("mlflow.run", run.id)
        return run

    def _send_waiting(self, run):
        if (values := run.system_metrics()) is not None:
            self._waiting.append(values)
        while steps := list(islice(self._waiting, BATCH_STEPS)):
            self._lost += run.log(steps)
            for _ in steps:
                self._waiting.popleft()

    def _say(self, text):
        if text not in self._said:
            self._said.add(text)
            print(f"mlflow: {text}", file=sys.stderr, flush=True)


class _Run:
    """The job's run. Everything here may raise what mlflow raises, and may be done again then."""

    def __init__(self, parameters, start, say):
        """`start` names this start, for a program that is no job's."""
        from mlflow.tracking import MlflowClient

        read = os.environ.get
        self._client, self._say, self._system, self._sampled = MlflowClient(), say, None, 0.0
        self.name = read("MLFLOW_RUN_NAME") or os.path.basename(sys.argv[0])
        self.experiment = read("MLFLOW_EXPERIMENT_ID") or self._experiment(read("MLFLOW_EXPERIMENT_NAME") or "Default")
        tags = {"shunter.dev/job": read("SHUNTER_JOB"), "shunter.dev/job-id": read("SHUNTER_JOB_ID")}
        tags = {name: value for name, value in tags.items() if value} or {"shunter.dev/start": start}
        found = self._found(tags)
        if found is None:
            found = self._client.create_run(self.experiment, run_name=self.name, tags={"mlflow.source.name": sys.argv[0], **tags})
        elif found.info.status != "RUNNING":
            self._client.update_run(found.info.run_id, "RUNNING")
        self.id, self._logged = found.info.run_id, {metric.key: metric.step for metric in found.data.to_proto().metrics}
        self.address = f"{os.environ['MLFLOW_TRACKING_URI'].rstrip('/')}/#/experiments/{self.experiment}/runs/{self.id}"
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
        for name, value in parameters.items():
            text = str(value)[:LONGEST_VALUE]
            if name not in present:
                missing.append(Param(name, text))
            elif present[name] != text:
                self._say(f"parameter {name} stays {present[name]} in the run, although this start has {text}")
        for start in range(0, len(missing), BATCH_PARAMETERS):
            self._log_batch("params", missing[start : start + BATCH_PARAMETERS])

    def log(self, steps):
        """Sends the metrics of some steps; returns how many could never be sent."""
        from mlflow.entities import Metric

        metrics, lost = [], 0
        for step, at, values in steps:
            for name, value in values.items():
                try:
                    metric = Metric(name, float(value), at, int(step))
                except (
                    TypeError,
                    ValueError,
                    RuntimeError,
                ) as error:  # of many elements, or of a lost GPU
                    self._say(f"metric {name} is no number: {_text(error)}")
                    lost += 1
                    continue
                if metric.step > self._logged.get(name, -1):
                    metrics.append(metric)
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
                self._say(f"{items[0].key} is not logged: {_text(error)}")
                return 1
            half = len(items) // 2
            return self._log_batch(kind, items[:half]) + self._log_batch(kind, items[half:])
        return 0

    def _begin_system_metrics(self):
        try:
            from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

            self._system = SystemMetricsMonitor(self.id)  # never started: its thread ends with the first request that fails
        except Exception as error:  # psutil is missing
            self._say(f"no system metrics: {_text(error)}")
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
        return self._sample, round(time.time() * 1000), values

    def end(self, status):
        self._client.set_terminated(self.id, status)


def _status(error):
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "FINISHED"
    is_stop = isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and error.code in (130, 143))
    return "KILLED" if is_stop else "FAILED"


def _text(error):
    """In one line, and without a password that somebody wrote into the address."""
    line = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {re.sub(r'//[^/@ ]*@', '//', line)}"

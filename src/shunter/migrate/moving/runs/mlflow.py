"""Reads a run of MLflow, from a tracking server by its REST API, or from a file store (`mlruns`)."""

from __future__ import annotations

import base64
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec

from shunter.api.meta import Json
from shunter.errors import EnvironmentProblem, InputError
from shunter.jobs.metrics import Point, Series, finite

SECONDS = 30.0
PAGE = 1000
_API = "api/2.0/mlflow"


def series_of(uri: str, run_id: str) -> list[Series]:
    """The metrics of a run. `uri` is http(s)://, or the directory of a file store. Credentials for a server are those of MLflow's
    own client: MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.

    InputError if there is no such run, EnvironmentProblem if the server cannot be reached."""
    metrics = _on_server(uri.rstrip("/"), run_id) if uri.startswith(("http://", "https://")) else _in_files(Path(uri), run_id)
    return [Series(name=name, source="mlflow", points=points) for name, points in metrics if points]


def _on_server(uri: str, run_id: str) -> Iterator[tuple[str, tuple[Point, ...]]]:
    answer = _fetched(uri, f"{_API}/runs/get?{urlencode({'run_id': run_id})}", run_id)
    for metric in answer["run"].get("data", {}).get("metrics", []):
        points: list[Json] = []
        query = {"run_id": run_id, "metric_key": metric["key"], "max_results": PAGE}
        while True:
            page = _fetched(uri, f"{_API}/metrics/get-history?{urlencode(query, quote_via=quote)}", run_id)
            points += page.get("metrics", [])
            if not page.get("next_page_token"):
                break
            query["page_token"] = page["next_page_token"]
        yield (
            metric["key"],
            _ordered([(int(point.get("step", 0)), float(point["value"]), int(point["timestamp"])) for point in points]),
        )


def _fetched(uri: str, path: str, run_id: str) -> Json:
    request = urllib.request.Request(f"{uri}/{path}", headers=_authorization())
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return msgspec.json.decode(answer.read(), type=Json)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise InputError(f"{uri}: MLflow has no run {run_id!r}.", "Use the run ID on the run's page.") from error
        if error.code in (401, 403):
            raise InputError(
                f"{uri}: MLflow denies access: {error.code} {error.reason}.",
                "Set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.",
            ) from error
        raise EnvironmentProblem(f"{uri}: MLflow answers {error.code} {error.reason}.", "Check its log.") from error
    except (urllib.error.URLError, HTTPException, OSError) as error:
        raise EnvironmentProblem(f"{uri}: MLflow cannot be reached: {error}.", "Check the address.") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{uri}: the server is not MLflow: {error}.", "Check the address.") from error


def _authorization() -> dict[str, str]:
    if token := os.environ.get("MLFLOW_TRACKING_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    if user := os.environ.get("MLFLOW_TRACKING_USERNAME"):
        credentials = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
        return {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
    return {}


def _in_files(store: Path, run_id: str) -> Iterator[tuple[str, tuple[Point, ...]]]:
    """The files `STORE/EXPERIMENT/RUN/metrics/KEY`, with one line per value: time in milliseconds, value, step."""
    directory = next((found for found in store.glob(f"*/{run_id}/metrics") if found.is_dir()), None)
    if directory is None:
        raise InputError(f"{store}: MLflow has no run {run_id!r}.", "Name the directory that contains the experiments.")
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        try:
            rows = [line.split() for line in file.read_text().splitlines() if line.strip()]
            values = [(int(row[2]) if len(row) > 2 else 0, float(row[1]), int(row[0])) for row in rows]
        except (ValueError, IndexError) as error:
            raise InputError(f"{file}: not an MLflow metric: {error}.", "A line has a time, a value and a step.") from error
        yield file.relative_to(directory).as_posix(), _ordered(values)


def _ordered(values: list[tuple[int, float, int]]) -> tuple[Point, ...]:
    """The points in the order of steps; of two values for one step the later one."""
    latest = {step: (value, time) for step, value, time in sorted(values, key=lambda row: row[2])}
    return tuple(Point((float(step),), finite(latest[step][0]), latest[step][1] / 1000) for step in sorted(latest))

"""The options of `run` for a program, as in `shunter run train.py`."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from shunter.cli.options import completion
from shunter.cli.output.console import ObjectForm


def _option(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, **settings)


class ProgramOptions(NamedTuple):
    """The options for a program. They are refused with manifests, which have fields for them."""

    module: Annotated[str, _option("-m", metavar="MODULE", help="Run a module, as python -m does.")] = ""
    nodes: Annotated[int, _option("--nodes", help="Number of nodes.")] = 1
    gpus: Annotated[int, _option("--gpus", help="GPUs per node.")] = 0
    procs: Annotated[int | None, _option("--procs", help="Processes per node [default: one per GPU, else 1].")] = None
    cpus: Annotated[str, _option("--cpus", help="CPUs that each node requests, as in 4 or 500m.")] = ""
    memory: Annotated[str, _option("--memory", help="Memory of each node, as in 16Gi: request and limit.")] = ""
    name: Annotated[
        str, _option("--name", help="Name of the job [default: the program's, with a number if that name is taken].")
    ] = ""
    env: Annotated[
        list[str],
        _option(
            "-e",
            "--env",
            metavar="K=V|K",
            help="Environment variable; K alone takes the value from this shell. Use --env-from for secrets.",
        ),
    ] = []
    env_from: Annotated[
        list[str],
        _option("--env-from", metavar="secret/NAME[:KEY]", help="Environment variables from a Secret: one key, or all keys."),
    ] = []
    image: Annotated[str, _option("--image", help="Image of the containers [default: the runtime's].")] = ""
    runtime: Annotated[
        str, _option("--runtime", help="Runtime to start from [default: shunter-torch where installed, else torch-distributed].")
    ] = ""
    workdir: Annotated[
        str, _option("--workdir", metavar="DIR", help="Directory to send [default: the current one if it contains the script].")
    ] = ""
    volume: Annotated[list[str], _option("--volume", metavar="CLAIM:/PATH[:ro]", help="Mount a PersistentVolumeClaim.")] = []
    checkpoints: Annotated[
        str,
        _option(
            "--checkpoints",
            metavar="CLAIM[:SUB/PATH]|DIR|URL",
            help="Location of SHUNTER_CHECKPOINT_DIR [default: on the embedded cluster a directory in its state, else none].",
        ),
    ] = ""
    resume: Annotated[
        str,
        _option(
            "--resume",
            metavar="JOB",
            autocompletion=completion.job_names,
            help="Resume from the checkpoints of another job and save to the same location.",
        ),
    ] = ""
    grace: Annotated[
        str, _option("--grace", help="Grace period after SIGTERM, as in 5m [default: 120s with checkpoints, else the runtime's].")
    ] = ""
    restarts: Annotated[
        int | None,
        _option(
            "--restarts", help="How often to recreate all pods after a failure before the job fails [default: the runtime's]."
        ),
    ] = None
    fabric: Annotated[
        str,
        _option("--fabric", metavar="PROFILE", help="Fast network: efa, gib, ib, tcpxo or none [default: none]."),
    ] = ""
    instance: Annotated[
        str, _option("--instance", metavar="TYPE", help="With --fabric: machine type, if the nodes are not labeled with it.")
    ] = ""
    queue: Annotated[str, _option("--queue", help="Kueue LocalQueue for the job.")] = ""
    label: Annotated[list[str], _option("--label", metavar="K=V", help="Label of the job.")] = []
    deadline: Annotated[str, _option("--deadline", help="End the job after this time, as in 12h.")] = ""
    mlflow: Annotated[
        str,
        _option(
            "--mlflow",
            metavar="URI|local|none",
            help="MLflow server to log to; local starts one on the embedded cluster [default: $MLFLOW_TRACKING_URI, if set].",
        ),
    ] = ""
    no_code: Annotated[bool, _option("--no-code", help="Send no files: the program is in the image.")] = False
    snapshot: Annotated[
        bool, _option("--snapshot", help="On the embedded cluster: send a copy, so that later edits do not affect the job.")
    ] = False
    detach: Annotated[bool, _option("-d", "--detach", help="Start the job and return.")] = False
    rerun: Annotated[
        str,
        _option(
            "--rerun", metavar="JOB", autocompletion=completion.job_names, help="Run an earlier job again under a free name."
        ),
    ] = ""
    dry_run: Annotated[bool, _option("--dry-run", help="Print the objects; change nothing.")] = False
    form: Annotated[ObjectForm | None, _option("-o", "--output", help="With --dry-run: as yaml or json [default: yaml].")] = None
    namespace: Annotated[
        str,
        _option("-n", "--namespace", autocompletion=completion.namespaces, help="Namespace of the job [default: the context's]."),
    ] = ""

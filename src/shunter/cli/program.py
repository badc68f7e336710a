"""`run` of a program: from the options to a job on a cluster, and its code."""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import os
from pathlib import Path

from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, TRAIN_JOBS
from shunter.cli.console import ObjectForm, print_objects, say
from shunter.cli.program_options import ProgramOptions
from shunter.cli.target import Target
from shunter.cli.tracking import local_address, require_local_server, say_run, say_server, start_local_server
from shunter.cluster import mlflow_server
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, NotFound
from shunter.launch import embedded, option_texts
from shunter.launch.checkpoints import names_with_checkpoints, require_resumable, with_checkpoints, with_resumed_place
from shunter.launch.code import Code, ImageCode, MountedCode, PackedCode
from shunter.launch.fabric import find_fabric, notes, require_profile
from shunter.launch.marks import DIGEST, DIRECTORY, PROGRAM
from shunter.launch.mounts import require_free_paths
from shunter.launch.named_objects import require_claims, require_queue
from shunter.launch.names import base_name, free_name
from shunter.launch.objects import checkpoint_directory, launch
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.packing import shown_bytes
from shunter.launch.runtimes import PYTHON, Runtime, find_runtime, require_embedded, require_startable
from shunter.launch.submitting import Submitted, job_names, resubmit, secret_variables, submit
from shunter.launch.tracking import LOCAL, tracked_run, tracking, with_uri
from shunter.launch.tree import packed_code, require_program

RERUN_OPTIONS = {"--rerun", "--name", "--detach", "--namespace"}
CLIENT_SIDE_APPLY_BYTES = 180 * 1024
"""What kubectl apply can keep of an object in an annotation of at most 256 KiB, as base64."""


def requested(path: str, options: ProgramOptions, words: list[str]) -> tuple[Program, Path]:
    """The program and the directory that travels. Reads every option: what is wrong is said before a cluster is started."""
    program, root = program_of(path, options, words)
    launch_options(options, program, [])
    require_local_server(options.mlflow)
    for text in options.env_from:
        option_texts.secret_reference(text)
    require_profile(options.fabric, options.instance)
    return program, root


def program_of(path: str, options: ProgramOptions, words: list[str]) -> tuple[Program, Path]:
    """The program, its path below the directory that travels, and that directory. InputError when there is no such script, or
    when it is not below --workdir."""
    here = Path.cwd()
    given = Path(os.path.abspath(os.path.expanduser(options.workdir))) if options.workdir else None
    if given is not None and not given.is_dir():
        raise InputError(f"--workdir {options.workdir}: no such directory.")
    if options.module:
        return Program(module=options.module, arguments=tuple(words)), given or here
    if options.no_code:
        return Program(path=path, arguments=tuple(words)), given or here
    script = Path(os.path.abspath(path))
    if not script.is_file():
        there = [entry.name for entry in script.parent.glob("*.py")] if script.parent.is_dir() else []
        close = difflib.get_close_matches(script.name, there, n=1)
        hint = (
            f"Did you mean {os.path.join(os.path.dirname(path), close[0])}?"
            if close
            else "Give the path of a script that is there."
        )
        raise InputError(f"{path}: no such file.", hint)
    root = given or (here if script.is_relative_to(here) else script.parent)
    if not script.is_relative_to(root):
        raise InputError(f"{path} is not below --workdir {options.workdir}.", "Name a directory that holds the script.")
    return Program(path=script.relative_to(root).as_posix(), arguments=tuple(words)), root


def launch_options(
    options: ProgramOptions, program: Program, environment: list[Json], *, local_mlflow: str = ""
) -> LaunchOptions:
    """The options as values. InputError for texts that are not understood."""
    given = (*option_texts.variables(options.env, os.environ), *environment)
    return LaunchOptions(
        program=program,
        nodes=options.nodes,
        gpus=options.gpus,
        procs=options.procs,
        cpus=options.cpus,
        memory=options.memory,
        name=options.name,
        environment=given,
        image=options.image,
        volumes=tuple(map(option_texts.volume, options.volume)),
        checkpoints=option_texts.checkpoints(options.checkpoints),
        resume=options.resume,
        grace_seconds=option_texts.duration("--grace", options.grace),
        queue=options.queue,
        labels=option_texts.labels(options.label),
        deadline_seconds=option_texts.duration("--deadline", options.deadline),
        tracking=tracking(options.mlflow, given, os.environ, local=local_mlflow),
        restarts=options.restarts,
    )


def code_of(options: ProgramOptions, program: Program, root: Path, *, is_embedded: bool) -> Code:
    """How the program's files get to its pods."""
    if options.no_code:
        return ImageCode()
    if is_embedded and not options.snapshot:
        if program.module:
            require_program(root, program, [str(path.relative_to(root)) for path in module_files(root, program.module)])
        return MountedCode(str(root))
    return packed_code(root, program)


def module_files(root: Path, module: str) -> list[Path]:
    """What is there of a module: its package's first part, and what python -m would run."""
    path = module.replace(".", "/")
    first = path.partition("/")[0]
    named = [root / f"{first}.py", root / f"{path}.py", root / path / "__main__.py"]
    return [file for file in named if file.is_file()] + ([root / first / "__init__.py"] if (root / first).is_dir() else [])


async def submitted(target: Target, program: Program, root: Path, options: ProgramOptions, *, replace: bool) -> Json | None:
    """Creates the program's job and says so; None with --dry-run, which prints it."""
    client = target.client
    namespace = options.namespace or client.namespace
    references = [option_texts.secret_reference(text) for text in options.env_from]
    code = code_of(options, program, root, is_embedded=target.embedded is not None)
    environment = [
        variable
        for secret, key in references
        for variable in (
            [option_texts.secret_variable(secret, key)] if key else await secret_variables(client, namespace, secret)
        )
    ]
    chosen = launch_options(options, program, environment, local_mlflow=local_address(target, options.mlflow))
    runtime = await find_runtime(client, namespace, options.runtime)
    if target.embedded is not None:
        require_embedded(runtime)
    chosen = dataclasses.replace(chosen, fabric=await find_fabric(client, options.fabric, options.instance))
    require_startable(runtime, chosen)
    chosen = await with_resumed_place(client, namespace, chosen, say)
    chosen = with_checkpoints(chosen, namespace, None if target.embedded is None else target.embedded.checkpoints)
    directory = chosen.checkpoints.directory if chosen.checkpoints is not None else ""
    taken = names_with_checkpoints(directory)
    if chosen.name in taken:
        say(f"checkpoints: {directory}/{chosen.name} is there, and the program may go on from it")
    require_free_paths(chosen, code, runtime)
    await require_queue(client, namespace, chosen)
    # Before a job is deleted in its favour, and in a dry run, which writes nothing.
    await require_claims(client, namespace, chosen)
    await require_resumable(client, namespace, chosen)
    if chosen.fabric is not None:
        say(f"fabric {chosen.fabric.title}")
    for note in notes(chosen.fabric, chosen.environment, chosen.gpus):
        say(f"warning: {note}")
    missing = "" if options.no_code else embedded.missing_module(program, root)
    if target.embedded is not None:
        images = embedded.images_of(target.embedded)
        allocatable = await embedded.allocatable(client)
        if missing and embedded.stands_for_this_python(chosen, runtime, images):
            raise InputError(
                f"-m {program.module}: {missing} is neither in {root} nor installed in the Python here.",
                "Run it where the package is, name that directory with --workdir, or install it.",
            )
        if not options.dry_run:
            embedded.require_fabric_device(chosen, allocatable)
        for note in embedded.notes(chosen, allocatable, images):
            say(f"warning: {note}")
    if missing:
        say(f"module {missing} is neither in {root} nor installed here; the image must have it")
    if options.dry_run:
        name = chosen.name or free_name(base_name(program), {*taken, *await job_names(client, namespace)})
        say_server(chosen)
        print_applicable(launch(chosen, code, runtime, name=name, namespace=namespace), options.form)
        return None
    if chosen.tracking is not None:
        await start_local_server(target, chosen.tracking.uri)
    if replace:
        await delete_present(client, chosen.name, namespace)
    if target.embedded is not None:
        await ensure_namespace(client, namespace)
    made = await submit(client, chosen, code, runtime=runtime, namespace=namespace, taken=taken, tell=say)
    say(code_line(code, root, made.sent))
    say(job_line(made, chosen, runtime))
    say_server(chosen)
    say_run(made.job)
    if chosen.checkpoints is None:
        say("checkpoints: nowhere; --checkpoints keeps what the program saves in SHUNTER_CHECKPOINT_DIR")
    return made.job


async def submitted_again(target: Target, options: ProgramOptions, job: Json) -> Json:
    """Creates another job of the same program, and says what of it is the same."""
    if others := [option for option in options.given() if option not in RERUN_OPTIONS]:
        raise InputError(
            f"--rerun {options.rerun} runs with the options of that job; {others[0]} cannot be given.",
            "Leave it out, or run the program itself.",
        )
    directory = checkpoint_directory(job)
    taken = names_with_checkpoints(directory if target.embedded is not None else "")
    run = tracked_run(job)
    if run is not None and mlflow_server.is_own(run.uri) and target.embedded is not None:
        job = with_uri(job, local_address(target, LOCAL))
        await start_local_server(target, run.uri)
    made = await resubmit(target.client, job, name=options.name, taken=taken, tell=say)
    annotations = made.job["metadata"]["annotations"]
    if directory := annotations.get(DIRECTORY):
        say(f"code: {directory} (mounted, so it is what stands there now, not what {options.rerun} ran)")
    elif digest := annotations.get(DIGEST):
        say(f"code: the same as {options.rerun}'s, sha256 {digest[:12]}")
    metadata = made.job["metadata"]
    say(f"TrainJob {metadata['namespace']}/{metadata['name']}: {annotations[PROGRAM]}, as {options.rerun}")
    say_run(made.job)
    return made.job


async def delete_present(client: Client, name: str, namespace: str) -> None:
    """Deletes the TrainJob of a name, if there is one, and waits until it is gone."""
    from shunter.cli.deleting import delete_and_wait

    try:
        job = await client.get(TRAIN_JOBS, name, namespace)
    except NotFound:
        return
    say(f"deleting TrainJob {namespace}/{name}")
    await delete_and_wait(client, TRAIN_JOBS, job)


async def ensure_namespace(client: Client, name: str) -> None:
    """On the embedded cluster a namespace is created when it is named."""
    try:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        say(f"created namespace {name}")
    except AlreadyExists:
        return


def print_applicable(objects: list[Json], form: ObjectForm | None) -> None:
    """What `kubectl apply` takes; says how large objects are applied."""
    import msgspec

    print_objects(objects, form or ObjectForm.yaml)
    if any(len(msgspec.json.encode(one)) > CLIENT_SIDE_APPLY_BYTES for one in objects):
        say("the code is large: apply it with kubectl apply --server-side")


def code_line(code: Code, root: Path, sent: int) -> str:
    """What of the program's files travelled."""
    if isinstance(code, MountedCode):
        return f"code: {code.directory} (mounted, read only: later edits show in the running job; --snapshot sends a copy)"
    if isinstance(code, ImageCode):
        return "code: in the image"
    return f"{packed_line(code, root)}{'' if sent else '; already in the cluster'}{never_line(code)}"


def packed_line(code: PackedCode, root: Path) -> str:
    source = "git: tracked and new, not ignored" if code.from_git else f"all of {root}"
    files = f"{code.files:,} file{'s' * (code.files != 1)}"
    return f"code: {files}, {shown_bytes(len(code.archive))} packed ({source}), sha256 {code.digest[:12]}"


def never_line(code: PackedCode) -> str:
    """Files that git knows and that stay behind: somebody may miss them."""
    if not code.left_out:
        return ""
    more = f" and {len(code.left_out) - 3} more" if len(code.left_out) > 3 else ""
    return f"\nleft out, as secrets and weights always are: {', '.join(code.left_out[:3])}{more}"


def job_line(made: Submitted, options: LaunchOptions, runtime: Runtime) -> str:
    """`TrainJob default/train-2 (train is taken): 2 nodes x 1 process, runtime torch-distributed`."""
    metadata = made.job["metadata"]
    taken = f" ({made.base} is taken)" if metadata["name"] != made.base else ""
    nodes = f"{options.nodes} node{'s' * (options.nodes != 1)}"
    processes = f"{options.processes} process{'es' * (options.processes != 1)}" if runtime.launcher != PYTHON else "1 process"
    name = runtime.name
    if options.restarts is not None:
        name += f" with {options.restarts} restart{'s' * (options.restarts != 1)} of all pods"
    return f"TrainJob {metadata['namespace']}/{metadata['name']}{taken}: {nodes} x {processes}, runtime {name}"


async def run_program(
    target: Target, asked: tuple[Program, Path] | None, options: ProgramOptions, *, replace: bool, timeout: float | None
) -> bool:
    """Whether the job of the program, or of --rerun, succeeded, or was created where it is not followed."""
    from shunter.cli.display import display
    from shunter.cli.jobs import find
    from shunter.cli.run import ended_by, goes_on

    async with target.client as client:
        if not options.dry_run:
            say(f"on {target.description}")
        job: Json | None
        if asked is None:
            _, earlier = await find(client, options.rerun, options.namespace, among=[TRAIN_JOBS])
            job = await submitted_again(target, options, earlier)
        else:
            job = await submitted(target, *asked, options, replace=replace)
        if job is None:
            return True
        if options.detach:
            say(goes_on(job))
            return True
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            succeeded = await ended_by(deadline, client, TRAIN_JOBS, job, display())
        except asyncio.CancelledError:
            say(goes_on(job))
            raise
        if succeeded:
            say(f"again: shunter run --rerun {job['metadata']['name']} -n {job['metadata']['namespace']}")
        return succeeded

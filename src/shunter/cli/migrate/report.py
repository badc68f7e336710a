"""`migrate report`: pages for people who decide, and one for each job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from shunter.cli.migrate.conversion_options import (
    AcceptOption,
    ElasticNodesOption,
    GangOption,
    MpiImageOption,
    Profile,
    ProfileOption,
    TargetVersionOption,
    TorchLaunch,
    TorchLaunchOption,
    options_of,
)
from shunter.cli.migrate.convert import (
    ConfigurationOption,
    FilesOption,
    HelmReleaseOption,
    KustomizeOption,
    read,
    take_on,
)
from shunter.cli.target import ContextOption, KubeconfigOption

T = TypeVar("T")


def report(
    files: FilesOption = None,
    kustomize: KustomizeOption = None,
    helm_release: HelmReleaseOption = "",
    cluster: Annotated[bool, typer.Option("--cluster", help="The jobs of a cluster.")] = False,
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Namespace of the cluster's jobs.")] = "",
    all_namespaces: Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces.")] = False,
    selector: Annotated[str, typer.Option("-l", "--selector", help="Labels of the cluster's jobs.")] = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    output_dir: Annotated[Path, typer.Option(help="Where the pages go.")] = Path("migration-report"),
    scan: Annotated[list[Path] | None, typer.Option("--scan", help="A repository that is scanned as well; repeatable.")] = None,
    comparison: Annotated[
        list[Path] | None, typer.Option("--comparison", help="What `compare -o json` wrote of a job's runs; repeatable.")
    ] = None,
    assessment: Annotated[Path | None, typer.Option(help="What `assess -o json` wrote of the cluster.")] = None,
    configuration: ConfigurationOption = None,
    accept: AcceptOption = None,
    torch_launch: TorchLaunchOption = TorchLaunch.auto,
    profile: ProfileOption = Profile.auto,
    gang: GangOption = "none",
    elastic_nodes: ElasticNodesOption = "",
    mpi_image: MpiImageOption = "",
    target_version: TargetVersionOption = "2.3",
) -> None:
    """Write a report: verdict, success metrics, waves, checklist, a page for each job, the move of the SDK.

    HTML that needs nothing from elsewhere, and the front page as Markdown too. Reads only.
    """
    from datetime import UTC, datetime

    from shunter.cli.console import errors
    from shunter.cli.migrate.scan import taken_on
    from shunter.cli.progress import counting
    from shunter.errors import InputError
    from shunter.migrate.batch import converted
    from shunter.migrate.briefing.decision import verdict
    from shunter.migrate.briefing.facts import Readiness, RunComparison, gathered
    from shunter.migrate.briefing.site import files as pages_of
    from shunter.migrate.inventory.taking import insides
    from shunter.migrate.scan.scanning import paths_below, scanned

    if bool(files or kustomize or helm_release) == cluster:
        raise InputError("say what is to be reported: files or a cluster.", "Name files with -f, or use --cluster.")
    options = options_of(
        accept=accept,
        torch_launch=torch_launch,
        profile=profile,
        gang=gang,
        elastic_nodes=elastic_nodes,
        mpi_image=mpi_image,
        target_version=target_version,
        suffix="",
        v1_labels=False,
        cluster_domain="",
        suspend=cluster,
    )
    runs = [told(path, "--comparison", RunComparison) for path in comparison or ()]
    readiness = told(assessment, "--assessment", Readiness) if assessment else None
    given, faults = read(files, kustomize, helm_release, cluster, namespace, all_namespaces, selector, kubeconfig, context)
    jobs = [*given.jobs, *(embedded.job for embedded in given.embedded)]
    with counting("converting", len(jobs)) as advance:
        batch = converted(jobs, options, [source.value for source in given.others], advance)
    batch, faults = take_on(batch, [*given.findings, *faults], configuration)
    references = None
    if scan:
        paths = paths_below(scan)
        with counting("scanning", len(paths)) as advance:
            references = taken_on(scanned(paths, advance).findings, configuration)
    with counting("proving", len(jobs)) as advance:
        facts = gathered(
            batch,
            insides(given),
            datetime.now(UTC),
            faults=faults,
            references=references,
            runs=runs,
            readiness=readiness,
            is_live=cluster,
            advance=advance,
        )
    count = 0
    with counting("writing pages", len(jobs)) as advance:
        for path, text in pages_of(facts):
            write_page(output_dir / path, text)
            count += 1
            advance(1)
    said = verdict(facts)
    errors().print(f"{said.word}: {said.sentence}", soft_wrap=True)
    errors().print(f"{count} files in {output_dir}; begin with {output_dir / 'index.html'}", soft_wrap=True)


def write_page(path: Path, text: str) -> None:
    """Pages are made again at any time, so none waits for the disk. EnvironmentProblem when it cannot be written."""
    from shunter.errors import EnvironmentProblem

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}.", "Name another --output-dir.") from error


def told(path: Path, flag: str, form: type[T]) -> T:
    """What another verb wrote into a file. InputError when it is something else."""
    import msgspec

    from shunter.errors import InputError

    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except OSError as error:
        raise InputError(f"{flag} {path}: {error.strerror}.") from error
    except msgspec.MsgspecError as error:
        verb = flag.removeprefix("--").replace("comparison", "compare JOB").replace("assessment", "assess")
        raise InputError(f"{flag} {path}: {error}.", f"Write one: shunter migrate {verb} -o json > FILE") from error

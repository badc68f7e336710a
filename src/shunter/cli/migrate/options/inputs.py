"""The input of all verbs that read v1 jobs: files, a kustomize build, a Helm release, a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from msgspec.structs import replace

from shunter.cli.output.progress import counting
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.errors import InputError
from shunter.kube.manifests import SUFFIXES
from shunter.migrate.conversion.gitops.kustomize import build
from shunter.migrate.conversion.source import provider
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding

if TYPE_CHECKING:
    from shunter.cluster.target import Target


class InputOptions(NamedTuple):
    """The flags as given. `require_one_source` checks that they do not exclude each other, `read` reads the input that they
    name."""

    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--filename", help="File, directory (recursive), or - for standard input; repeatable."),
    ] = None
    kustomize: Annotated[list[str] | None, typer.Option("--kustomize", "-k", help="Kustomization directory; repeatable.")] = None
    helm_release: Annotated[str, typer.Option("--helm-release", help="Helm release in the cluster.")] = ""
    cluster: Annotated[bool, typer.Option("--cluster", help="Read the jobs of a cluster.")] = False
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Namespace of the jobs in the cluster.")] = ""
    all_namespaces: Annotated[bool, typer.Option("-A", "--all-namespaces", help="Jobs of all namespaces.")] = False
    selector: Annotated[str, typer.Option("-l", "--selector", help="Label selector of the jobs in the cluster.")] = ""
    kubeconfig: KubeconfigOption = None
    context: ContextOption = ""
    mpi_operator: Annotated[
        bool,
        typer.Option("--mpi-operator", help="Also convert MPIJobs of mpi-operator (kubeflow.org/v2beta1)."),
    ] = False

    @property
    def names_files(self) -> bool:
        """Whether an input other than the jobs of a cluster was named. A Helm release counts, although it is read from a
        cluster."""
        return bool(self.files or self.kustomize or self.helm_release)

    def with_paths(self, arguments: Sequence[str]) -> tuple[InputOptions, list[str]]:
        """The input, with the files and directories among the arguments, and the other arguments, which are names of jobs. If an
        option names the input, only arguments with the extension of a manifest are files."""
        has_source = self.cluster or self.names_files
        paths = [path for path in arguments if path.endswith(SUFFIXES) or (not has_source and Path(path).exists())]
        names = [name for name in arguments if name not in paths]
        return self._replace(files=[*(self.files or []), *paths] or None), names

    def require_one_source(self) -> None:
        """Raises InputError unless the input is either files or a cluster, and for flags that do not apply to it."""
        if self.cluster and self.names_files:
            raise InputError("--cluster cannot be combined with another input.", "Leave one of them out.")
        if not self.cluster and not self.names_files:
            raise InputError("no input was named.", "Name files, or use --kustomize, --helm-release or --cluster.")
        in_cluster = self.cluster or self.helm_release
        for flag, is_without_use in (
            ("-n", self.namespace and not in_cluster),
            ("-A", self.all_namespaces and not in_cluster),
            ("-l", self.selector and not self.cluster),
        ):
            if is_without_use:
                raise InputError(f"{flag} selects jobs of a cluster.", "Remove it: named inputs are read completely.")

    def target(self) -> tuple[Target, str]:
        """The cluster, and the namespace to read; empty for all."""
        found = connect(self.kubeconfig, self.context)
        return found, "" if self.all_namespaces else self.namespace or found.client.namespace

    def read(self) -> tuple[Input, list[Finding]]:
        """The input, and the findings about reading it."""
        read_input, faults = self._read()
        return replace(read_input, mpi_operator=self.mpi_operator), faults

    def _read(self) -> tuple[Input, list[Finding]]:
        with counting("reading files") as advance:
            read_input = provider.read(self.files or [], advance)
        if self.kustomize:
            built = (text_file(build(Path(directory)), f"kustomize build {directory}") for directory in self.kustomize)
            read_input += provider.Input(tuple(built))
        if not (self.helm_release or self.cluster):
            return read_input, []
        from shunter.cli.migrate.options import cluster_input  # a client, which files need not wait for

        target, namespace = self.target()
        if self.helm_release:
            manifest = cluster_input.release_manifest(target, namespace, self.helm_release)
            return read_input + provider.Input((text_file(manifest, f"helm release {self.helm_release}"),)), []
        return cluster_input.jobs(target, namespace, self.selector)

"""`images`: manages the environments of this machine that images map to on the embedded cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shunter.cli.options.command import Group
from shunter.cli.output.console import Output, output, plain_table, print_as, print_table, say
from shunter.cluster import image_builds
from shunter.cluster.node.content.image_environments import ImageEnvironment, recorded
from shunter.cluster.state_dir import StateDir, default_state_dir
from shunter.launch.code.packing import shown_bytes

app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)

ImageArgument = Annotated[str, typer.Argument(metavar="IMAGE", help="Image name as in pods; * matches anything.")]


@app.command("add", short_help="Create the environment for an image.")
def add(
    image: ImageArgument,
    pip: Annotated[list[str], typer.Option("--pip", help="Package, in the syntax of pip; repeatable.")] = [],  # noqa: B006
    requirements: Annotated[
        Path | None, typer.Option("--requirements", exists=True, dir_okay=False, help="Requirements file for pip.")
    ] = None,
    python: Annotated[
        str, typer.Option("--python", help="Python interpreter [default: the one that runs shunter].", show_default=False)
    ] = "",
) -> None:
    """Create a virtual environment with these packages, in which containers of this image run from now on.

    A mapping of the image by `shunter up --images` takes precedence. All other images use the environment of shunter itself.
    """
    packages = [*pip, *(["--requirement", str(requirements.resolve())] if requirements else [])]
    _print_environment(image_builds.add(_root(), image, packages, python))


@app.command("list", short_help="List the environments.")
def list_(form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table) -> None:
    """List the images that have their own environment."""
    found = recorded(_root())
    if form is not Output.table:
        print_as(msgspec.to_builtins(found), form)
        return
    if not found:
        say("no image has its own environment; create one: shunter images add IMAGE --pip PACKAGE")
        return

    table = plain_table("IMAGE", "PYTHON", "SIZE", "REQUIREMENTS")
    for one in found:
        size = shown_bytes(image_builds.size(_root(), one))
        table.add_row(one.image, one.python, size, " ".join(one.requirements))
    print_table(table)


@app.command("rebuild", short_help="Recreate the environment of an image.")
def rebuild(image: ImageArgument) -> None:
    """Install the same requirements into a new environment, to pick up newer releases or a changed requirements file.

    Running containers keep the old environment, which is removed with the next change.
    """
    _print_environment(image_builds.rebuild(_root(), image))


@app.command("remove", short_help="Remove the environment of an image.")
def remove(image: ImageArgument) -> None:
    """Remove the environment of an image. Containers that still run in it lose its files."""
    image_builds.remove(_root(), image)
    say(f"removed the environment of {image}")


def _print_environment(environment: ImageEnvironment) -> None:
    say(f"image {environment.image}: Python {environment.python} with {' '.join(environment.requirements)}")
    output().print(f"image: {environment.image}", soft_wrap=True)


def _root() -> Path:
    return StateDir(default_state_dir()).images

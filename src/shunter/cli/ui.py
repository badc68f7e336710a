"""`ui`: serves the web page to the user of this machine or, as `ui serve`, to the users of a cluster."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from shunter.api.collector import collect_seldom
from shunter.api.names import label_faults
from shunter.cli.options.command import Group
from shunter.cli.output.console import output, say
from shunter.cli.run import connect_or_start
from shunter.cli.target import ContextOption, KubeconfigOption
from shunter.cluster.state_dir import StateDir, default_state_dir, write_private
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.kubeconfig import Connection
from shunter.page.assets import require_vendor
from shunter.page.record import PageRecord, opener
from shunter.page.serving import LocalOptions, ServeOptions, connection_of, served, served_here
from shunter.page.views.view import PageOptions

PORT = 8642

app = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)


class Auth(StrEnum):
    """How viewers in a cluster log in."""

    token = "token"
    proxy = "proxy"


PlanOption = Annotated[
    Path | None, typer.Option("--plan", exists=True, dir_okay=False, help="Migration plan to show on the Migration page.")
]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Offer no actions.")]
KeyNamespaceOption = Annotated[
    str, typer.Option("-n", "--namespace", help="Namespace to show [default: all that you may list, else that of the context].")
]


@app.callback()
def ui(
    ctx: typer.Context,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: KeyNamespaceOption = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; if it is in use, the next free one; 0 picks any.")
    ] = PORT,
    open_browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open a browser [default: with a display and a terminal].", show_default=False),
    ] = None,
    read_only: ReadOnlyOption = False,
    plan: PlanOption = None,
) -> None:
    """Serve the web page on this machine until Ctrl-C, and print its address.

    Without --kubeconfig, --context or $KUBECONFIG it shows the embedded cluster, which is started if it is down. The page acts
    with your own permissions. The printed link logs in one browser and works once, within a minute; `shunter status` prints
    another.
    """
    if ctx.invoked_subcommand is not None:
        return

    if namespace and label_faults(namespace):
        raise InputError(
            f"--namespace {namespace}: this is not the name of a namespace.", "Use lower case letters, digits and -."
        )
    require_vendor()
    target = connect_or_start(kubeconfig, context)
    connection = target.connection
    assert connection is not None, "find_target sets it"
    state = target.embedded or StateDir(default_state_dir())
    page = _page_options(target, connection, _options_text(kubeconfig, context), namespace, plan, read_only=read_only)
    options = LocalOptions(connection, page, port, state.page)
    collect_seldom()

    def show(record: PageRecord, bound: int) -> None:
        if port and bound != port:
            say(f"port {port} is in use: using {bound}")
        say(f"Web page for {record.cluster}; Ctrl-C stops it. The link logs in one browser, once, within a minute:")
        url = record.login_url()
        output().print(url, soft_wrap=True)
        if may_open() if open_browser is None else open_browser:
            left.callback(state.page_opener.unlink, missing_ok=True)
            write_private(state.page_opener, opener(url).encode())
            if not webbrowser.open(state.page_opener.absolute().as_uri()):
                say("No browser was found on this machine: open the link in one.")

    async def serve_here() -> None:
        await target.client.close()
        await served_here(options, show)

    with ExitStack() as left:
        try:
            uvloop.run(serve_here())
        except KeyboardInterrupt:
            say("the page is stopped")


def may_open() -> bool:
    """Whether this machine has a display, and standard output is a terminal."""
    has_display = sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return has_display and sys.stdout.isatty()


def _page_options(
    target: Target, connection: Connection, options: str, namespace: str, plan: Path | None, *, read_only: bool
) -> PageOptions:
    """The page's options. `options` are the ones that other commands need to reach the cluster."""
    return PageOptions(
        cluster="embedded cluster" if target.is_default else connection.context or connection.server,
        is_embedded=target.embedded is not None,
        is_read_only=read_only,
        namespaces=tuple(dict.fromkeys(each for each in (namespace, connection.namespace) if each)),
        options=options,
        kubectl="shunter kubectl" if target.is_default else f"kubectl{options}",
        home=f"/jobs?namespace={namespace}" if namespace else "/",
        plan=plan.absolute() if plan else None,
    )


def _options_text(kubeconfig: Path | None, context: str) -> str:
    """The options that other commands need to reach the same cluster; begins with a blank."""
    words = [*(["--kubeconfig", str(kubeconfig.absolute())] if kubeconfig else []), *(["--context", context] if context else [])]
    return f" {shlex.join(words)}" if words else ""


@app.command("serve", short_help="Serve the page to the users of a cluster.")
def serve(
    auth: Annotated[
        Auth,
        typer.Option(
            help="token: viewers send or enter a bearer token, with which all requests are made. proxy: a proxy in front names "
            "the viewer in headers, whom this process impersonates."
        ),
    ] = Auth.token,
    url: Annotated[
        list[str] | None,
        typer.Option("--url", help="Address under which viewers open the page, e.g. https://shunter.example.com; repeatable."),
    ] = None,
    bind_address: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8443,
    tls_cert_dir: Annotated[
        Path | None, typer.Option(help="Directory with tls.crt and tls.key [default: plain HTTP, behind an ingress with TLS].")
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Cluster to show [default: in-cluster, else $KUBECONFIG].", show_default=False)
    ] = None,
    context: ContextOption = "",
    server: Annotated[
        str, typer.Option(help="With --auth token: URL of the API server, if there is no kubeconfig.", show_default=False)
    ] = "",
    certificate_authority: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="CA of that API server, in PEM.", show_default=False)
    ] = None,
    user_header: Annotated[str, typer.Option(help="With --auth proxy: header that names the viewer.")] = "kubeflow-userid",
    groups_header: Annotated[
        str, typer.Option(help="With --auth proxy: header with the viewer's groups, comma-separated.", show_default=False)
    ] = "",
    proxy_secret_file: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="With --auth proxy: secret to expect in X-Shunter-Proxy-Secret."),
    ] = None,
    proxy_client_ca: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="With --auth proxy: CA of the proxy's client certificate (mTLS)."),
    ] = None,
    frame_ancestors: Annotated[
        str, typer.Option(help="Origin that may show the page in a frame, e.g. of a dashboard.", show_default=False)
    ] = "",
    namespace: Annotated[
        list[str] | None,
        typer.Option("-n", "--namespace", help="Namespace to show to viewers who may not list all namespaces; repeatable."),
    ] = None,
    read_only: ReadOnlyOption = False,
) -> None:
    """Serve the page to the users of a cluster, each with their own permissions; see docs/ui.md.

    Requests to the API server are made with the viewer's token, or as the viewer by impersonation, never with the permissions of
    this process alone.
    """
    require_vendor()
    options = ServeOptions(
        is_proxied=auth is Auth.proxy,
        urls=tuple(url or ()),
        bind_address=bind_address,
        port=port,
        tls_cert_dir=tls_cert_dir,
        connection=connection_of(kubeconfig, context, server, certificate_authority, is_proxied=auth is Auth.proxy),
        user_header=user_header,
        groups_header=groups_header,
        proxy_secret_file=proxy_secret_file,
        proxy_client_ca=proxy_client_ca,
        frame_ancestors=frame_ancestors,
        namespaces=tuple(namespace or ()),
        read_only=read_only,
    )
    uvloop.run(served(options, lambda bound: say(f"the page is served on {bind_address}:{bound}; viewers log in by {auth}")))

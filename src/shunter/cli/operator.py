"""`operator`: the operator alone, against any API server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _kinds() -> list[str]:
    from shunter.operator.kinds import KINDS

    return [*KINDS]


def operator(
    kubeconfig: Annotated[Path | None, typer.Option(help="Cluster to serve [default: in-cluster, else $KUBECONFIG].")] = None,
    namespace: Annotated[list[str] | None, typer.Option(help="Serve only this namespace; may be repeated.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Serve only this kind, e.g. TrainJob; may be repeated.", autocompletion=_kinds)
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Configuration file (config.trainer.kubeflow.org/v1alpha1).")] = None,
    webhook_host: Annotated[str, typer.Option(help="Address that the webhook server listens on.")] = "0.0.0.0",
    webhook_port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the webhook server; 0 takes a free one.")] = 9443,
    webhook_cert_dir: Annotated[Path | None, typer.Option(help="Holds tls.crt and tls.key [default: made anew].")] = None,
    webhook_service: Annotated[
        str, typer.Option(help="Service in our namespace through which the API server calls the webhooks.", show_default=False)
    ] = "",
    webhook_secret: Annotated[
        str, typer.Option(help="Secret in our namespace for a certificate that we make and renew.", show_default=False)
    ] = "",
    register_webhooks: Annotated[
        bool, typer.Option("--register-webhooks", help="Write the webhook configurations with our own address and CA.")
    ] = False,
    install_runtimes: Annotated[
        bool, typer.Option("--install-runtimes", help="Apply the shipped ClusterTrainingRuntimes at the start.")
    ] = False,
    controllers: Annotated[bool, typer.Option("--controllers/--no-controllers", help="Reconcile jobs.")] = True,
    webhooks: Annotated[bool, typer.Option("--webhooks/--no-webhooks", help="Serve the admission webhooks.")] = True,
    metrics_bind_address: Annotated[str, typer.Option(help="Address of /metrics; 0 switches it off.")] = ":8080",
    health_probe_bind_address: Annotated[str, typer.Option(help="Address of /healthz and /readyz; 0 switches it off.")] = ":8081",
    leader_elect: Annotated[bool, typer.Option("--leader-elect/--no-leader-elect", help="Only the leader reconciles.")] = True,
    kube_api_qps: Annotated[
        float,
        typer.Option(min=0, help="Requests a second to the API server, on average; 0 leaves it to the server's own fairness."),
    ] = 0.0,
    kube_api_burst: Annotated[
        int, typer.Option(min=0, help="How many of them may go at once after a pause; 0 means twice --kube-api-qps.")
    ] = 0,
    feature_gates: Annotated[
        str, typer.Option(help="Alpha features: NAME=true, several with commas; there is TrainJobStatus.", show_default=False)
    ] = "",
    status_server_host: Annotated[
        str,
        typer.Option(help="Name under which pods report progress [default: that of --webhook-service].", show_default=False),
    ] = "",
    status_server_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the status server (feature gate TrainJobStatus).")
    ] = 10443,
    default_backoff_limit: Annotated[
        int | None,
        typer.Option(min=0, help="Restarts allowed to v1 jobs that set no backoffLimit [default: unlimited, as upstream]."),
    ] = None,
    gang_scheduler_name: Annotated[
        str,
        typer.Option(
            help="Place the pods of each v1 job together: volcano, or the name of a scheduler with coscheduling.",
            show_default=False,
        ),
    ] = "",
    mpi_kubectl_delivery_image: Annotated[
        str,
        typer.Option(
            help="Image that brings the launchers of MPIJobs a kubectl at $TARGET_DIR/kubectl [default: upstream's].",
            show_default=False,
        ),
    ] = "",
    pytorch_init_container_image: Annotated[
        str,
        typer.Option(
            help="Image in which workers of PyTorchJobs wait for their master [default: alpine:3.10].", show_default=False
        ),
    ] = "",
    pytorch_init_container_max_tries: Annotated[
        int, typer.Option(help="How often they look for it, every 2 seconds [default: 100].", show_default=False, min=0)
    ] = 0,
    pytorch_init_container_template_file: Annotated[
        Path | None,
        typer.Option(
            help="YAML list of the init containers in which they look, with {{.MasterAddr}}, {{.InitContainerImage}} and "
            "{{.MaxTries}} [default: /etc/config/initContainer.yaml where it exists].",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the operator against any API server, until SIGTERM."""
    from shunter.operator.process import OperatorOptions, serve

    serve(
        OperatorOptions(
            kubeconfig=kubeconfig,
            namespaces=tuple(namespace or ()),
            kinds=tuple(kind or ()),
            config=config,
            webhook_host=webhook_host,
            webhook_port=webhook_port,
            webhook_cert_dir=webhook_cert_dir,
            webhook_service=webhook_service,
            webhook_secret=webhook_secret,
            register_webhooks=register_webhooks,
            install_runtimes=install_runtimes,
            controllers=controllers,
            webhooks=webhooks,
            metrics_bind_address=metrics_bind_address,
            health_probe_bind_address=health_probe_bind_address,
            leader_elect=leader_elect,
            kube_api_qps=kube_api_qps,
            kube_api_burst=kube_api_burst,
            feature_gates=feature_gates,
            status_server_host=status_server_host,
            status_server_port=status_server_port,
            default_backoff_limit=default_backoff_limit,
            gang_scheduler_name=gang_scheduler_name,
            mpi_kubectl_delivery_image=mpi_kubectl_delivery_image,
            pytorch_init_container_image=pytorch_init_container_image,
            pytorch_init_container_max_tries=pytorch_init_container_max_tries,
            pytorch_init_container_template_file=pytorch_init_container_template_file,
        )
    )

"""`operator`: runs the operator against any API server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.operator.kinds import KINDS
from shunter.operator.process import OperatorOptions, serve


def _kinds() -> list[str]:
    return [*KINDS]


def operator(
    kubeconfig: Annotated[Path | None, typer.Option(help="Cluster to serve [default: in-cluster, else $KUBECONFIG].")] = None,
    namespace: Annotated[list[str] | None, typer.Option(help="Serve only this namespace; repeatable.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Serve only this kind, for example TrainJob; repeatable.", autocompletion=_kinds)
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Configuration file (config.trainer.kubeflow.org/v1alpha1).")] = None,
    webhook_host: Annotated[
        str,
        typer.Option(
            help="Address that the webhook server listens on and, with --register-webhooks, at which the API server calls it."
        ),
    ] = "0.0.0.0",
    webhook_port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the webhook server; 0 picks a free one.")] = 9443,
    webhook_cert_dir: Annotated[
        Path | None, typer.Option(help="Directory with tls.crt and tls.key [default: generated].")
    ] = None,
    webhook_service: Annotated[
        str,
        typer.Option(
            help="Service in the operator's namespace through which the API server calls the webhooks.", show_default=False
        ),
    ] = "",
    webhook_secret: Annotated[
        str,
        typer.Option(
            help="Secret in the operator's namespace for the certificate, which the operator creates and renews.",
            show_default=False,
        ),
    ] = "",
    register_webhooks: Annotated[
        bool, typer.Option("--register-webhooks", help="Write webhook configurations with the address and CA of this process.")
    ] = False,
    install_runtimes: Annotated[
        bool, typer.Option("--install-runtimes", help="Apply the shipped ClusterTrainingRuntimes on start.")
    ] = False,
    controllers: Annotated[bool, typer.Option("--controllers/--no-controllers", help="Reconcile jobs.")] = True,
    webhooks: Annotated[bool, typer.Option("--webhooks/--no-webhooks", help="Serve the admission webhooks.")] = True,
    metrics_bind_address: Annotated[str, typer.Option(help="Address of /metrics; 0 disables it.")] = ":8080",
    health_probe_bind_address: Annotated[str, typer.Option(help="Address of /healthz and /readyz; 0 disables it.")] = ":8081",
    leader_elect: Annotated[bool, typer.Option("--leader-elect/--no-leader-elect", help="Only the leader reconciles.")] = True,
    kube_api_qps: Annotated[
        float,
        typer.Option(min=0, help="Average requests per second to the API server; 0 means no limit."),
    ] = 0.0,
    kube_api_burst: Annotated[int, typer.Option(min=0, help="Maximum burst of requests; 0 means twice --kube-api-qps.")] = 0,
    feature_gates: Annotated[
        str, typer.Option(help="Alpha features: NAME=true, comma-separated; available: TrainJobStatus.", show_default=False)
    ] = "",
    status_server_host: Annotated[
        str,
        typer.Option(help="Host name at which pods report progress [default: that of --webhook-service].", show_default=False),
    ] = "",
    status_server_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the status server (feature gate TrainJobStatus).")
    ] = 10443,
    default_backoff_limit: Annotated[
        int | None,
        typer.Option(min=0, help="backoffLimit of v1 jobs that set none [default: unlimited, as upstream]."),
    ] = None,
    gang_scheduler_name: Annotated[
        str,
        typer.Option(
            help="Gang scheduler for v1 jobs: volcano, or the name of a scheduler with the coscheduling plugin.",
            show_default=False,
        ),
    ] = "",
    mpi_kubectl_delivery_image: Annotated[
        str,
        typer.Option(
            help="Image that copies kubectl to $TARGET_DIR/kubectl for launchers of MPIJobs [default: upstream's].",
            show_default=False,
        ),
    ] = "",
    pytorch_init_container_image: Annotated[
        str,
        typer.Option(
            help="Image of the init container in which workers of PyTorchJobs wait for the master [default: alpine:3.10].",
            show_default=False,
        ),
    ] = "",
    pytorch_init_container_max_tries: Annotated[
        int, typer.Option(help="Number of tries, 2 seconds apart [default: 100].", show_default=False, min=0)
    ] = 0,
    pytorch_init_container_template_file: Annotated[
        Path | None,
        typer.Option(
            help="YAML list of the init containers in which workers wait, with {{.MasterAddr}}, {{.InitContainerImage}} and "
            "{{.MaxTries}} [default: /etc/config/initContainer.yaml where it exists].",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the operator against any API server, until SIGTERM."""
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

"""What a pod calls itself, as kubelet names it."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.node.runtime.protocol import host_name, kernel_name
from shunter.errors import EnvironmentProblem


def pod(**spec: Any) -> Any:
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "host", "kernel"),
    [
        ({}, "p", "p"),
        ({"hostname": "h", "subdomain": "job"}, "h", "h"),
        ({"hostname": "h", "subdomain": "job", "setHostnameAsFQDN": True}, "h", "h.job.ns.svc.cluster.local"),
        ({"hostname": "h", "setHostnameAsFQDN": True}, "h", "h"),
        ({"hostname": "h", "subdomain": "job", "hostnameOverride": "my.own"}, "my.own", "my.own"),
    ],
    ids=["its name", "its hostname", "its full name", "no full name without a subdomain", "overridden"],
)
def test_the_names_of_a_pod(spec: Any, host: str, kernel: str) -> None:
    assert (host_name(pod(**spec)), kernel_name(pod(**spec))) == (host, kernel)


def test_a_full_name_that_linux_does_not_take_is_refused_in_kubelets_words() -> None:
    with pytest.raises(EnvironmentProblem, match=r"is too long \(64 characters is the max, 68 characters requested\)"):
        kernel_name(pod(hostname="h" * 43, subdomain="job", setHostnameAsFQDN=True))

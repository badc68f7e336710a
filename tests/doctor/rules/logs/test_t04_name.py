"""Which host name does not resolve, in the words of libc, ssh, curl, torch and gRPC."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose

RETRIES = "(Caused by NameResolutionError(\"<HTTPSConnection at 0x7f>: Failed to resolve 'huggingface.co' ([Errno -3]"


@pytest.mark.parametrize(
    ("said", "host"),
    [
        pytest.param("socket.gaierror: [Errno -2] Name or service not known", "", id="no name is told"),
        pytest.param("socket.gaierror: [Errno -5] No address associated with hostname", "", id="a name without an address"),
        pytest.param("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "", id="urllib"),
        pytest.param(
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded "
            f'{RETRIES} Temporary failure in name resolution)"))',
            "huggingface.co",
            id="requests",
        ),
        pytest.param(
            "torch.distributed.DistNetworkError: The IPv4 network addresses of (j-master-0, 23456) cannot be retrieved "
            "(gai error: -2 - Name or service not known).",
            "j-master-0",
            id="torch",
        ),
        pytest.param(
            "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: DNS resolution failed for j-0.j:6666: C-ares status is not "
            "ARES_SUCCESS qtype=A name=j-0.j is_balancer=0: Domain name not found",
            "j-0.j",
            id="gRPC, as JAX uses it",
        ),
    ],
)
def test_an_exception_of_the_resolver_names_the_host_if_it_can(said: str, host: str) -> None:
    (verdict,) = diagnose(failed(pod(0, **ended(1)), logs=(log(0, traceback(said)),)), NOW).verdicts
    assert (verdict.id, verdict.confidence) == ("T04", "likely")
    assert verdict.cause == f"rank 0 cannot resolve {f'the host name {host}' if host else 'a host name'}"


@pytest.mark.parametrize(
    ("said", "host"),
    [
        pytest.param("ssh: Could not resolve hostname j-worker-0.j: Name or service not known", "j-worker-0.j", id="ssh"),
        pytest.param("curl: (6) Could not resolve host: data.example", "data.example", id="curl"),
        pytest.param("getaddrinfo for j-worker-1: Name or service not known", "j-worker-1", id="getaddrinfo"),
        pytest.param("ping: bad address: Name does not resolve", "", id="musl"),
    ],
)
def test_a_program_without_exceptions_names_the_host_in_its_last_line(said: str, host: str) -> None:
    (verdict,) = diagnose(failed(pod(0, **ended(255)), logs=(log(0, "connecting", said),)), NOW).verdicts
    assert verdict.id == "T04"
    assert verdict.cause == f"rank 0 cannot resolve {f'the host name {host}' if host else 'a host name'}"


@pytest.mark.parametrize(
    "said",
    ["ValueError: name does not resolve to a model", "ConnectionRefusedError: [Errno 111] Connection refused"],
    ids=["a name of another kind", "a host that is there"],
)
def test_other_errors_are_no_matter_of_names(said: str) -> None:
    assert "T04" not in [one.id for one in diagnose(failed(pod(0, **ended(1)), logs=(log(0, traceback(said)),)), NOW).verdicts]


FETCH = """Traceback (most recent call last):
  File "/usr/lib/python3.11/urllib/request.py", line 1348, in do_open
    raise URLError(err)
urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>"""


@pytest.mark.parametrize("said", [FETCH, "curl: (6) Could not resolve host: data.example"], ids=["urllib", "curl"])
def test_a_host_from_which_the_program_fetches_something_is_none_of_the_job(said: str) -> None:
    (verdict,) = diagnose(failed(pod(0, **ended(1)), logs=(log(0, said),)), NOW).verdicts
    assert (verdict.id, "MASTER_ADDR" in verdict.remedy, "HTTPS_PROXY" in verdict.remedy) == ("T04", False, True)

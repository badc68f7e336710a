"""Ways out of the pods' network, as they are written."""

from __future__ import annotations

import pytest

from shunter.cluster.node.net.external_services import ExternalService, names, parsed
from shunter.cluster.node.runtime.protocol import HostPort
from shunter.errors import InputError


def test_a_way_is_a_name_and_where_it_leads() -> None:
    assert parsed(["a.b.svc:10443=127.0.0.1:4711", "c:1=[::1]:2"]) == (
        ExternalService("a.b.svc", 10443, HostPort("127.0.0.1", 4711)),
        ExternalService("c", 1, HostPort("::1", 2)),
    )


def test_names_are_known_as_pods_ask_for_them() -> None:
    (way,) = parsed(["a.b.svc:1=h:2"])
    assert names([way], "10.1.2.1") == {"a.b.svc": "10.1.2.1", "a.b.svc.cluster.local": "10.1.2.1"}


@pytest.mark.parametrize("text", ["", "a", "a:1", "a:1=b", "a:0=b:1", "a:1=b:70000", "A b:1=c:2"])
def test_what_is_no_way_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="Write it like --reach"):
        parsed([text])

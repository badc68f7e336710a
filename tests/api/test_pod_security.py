"""What a container that the operator adds takes over of the one beside it: restrictions, never rights."""

import pytest

from shunter.api.meta import Json
from shunter.api.pod_security import restrictions

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000680000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param(None, {}, id="a container without a security context restricts nothing"),
        pytest.param(RESTRICTED, {"securityContext": RESTRICTED}, id="what the standard `restricted` asks for is taken over"),
        pytest.param(
            {"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}, "runAsUser": 0, "allowPrivilegeEscalation": True},
            {},
            id="rights are not",
        ),
        pytest.param(
            {"capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}},
            {"securityContext": {"capabilities": {"drop": ["ALL"]}}},
            id="of capabilities only what is dropped",
        ),
        pytest.param({"readOnlyRootFilesystem": True, "runAsNonRoot": False}, {}, id="nothing that would break its own work"),
    ],
)
def test_restrictions(context: Json | None, expected: Json) -> None:
    assert restrictions({"name": "pytorch", "securityContext": context}) == expected

"""How a server gives the objects that are there."""

import pytest

from kube.peer import Peer


@pytest.fixture(params=[True, False], ids=["streaming list", "paged list"])
def any_list(request: pytest.FixtureRequest, peer: Peer) -> None:
    peer.has_watch_list = request.param

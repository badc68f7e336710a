"""What `shunter up` refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cli.clusters import up, warm_modules
from shunter.errors import InputError


def test_modules_that_have_no_name_of_one_are_refused() -> None:
    assert warm_modules("torch, torch.distributed") == ("torch", "torch.distributed")
    with pytest.raises(InputError, match="--warm tor-ch: 'tor-ch' is not the name of a module"):
        warm_modules("tor-ch")
    with pytest.raises(InputError, match="--warm ,: no module is named"):
        warm_modules(",")


def test_simulated_pods_start_neither_warm_nor_cold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--warm and --simulate exclude each other"):
        up(tmp_path / "state", simulate=True, warm="torch")
    assert not (tmp_path / "state").exists()

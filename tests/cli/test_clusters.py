"""What `shunter up` refuses before it starts anything."""

from __future__ import annotations

import pytest

from shunter.cli.clusters import check_modules
from shunter.errors import InputError


def test_modules_that_have_no_name_of_one_are_refused() -> None:
    check_modules("torch, torch.distributed", simulate=False)
    with pytest.raises(InputError, match="--warm tor-ch: 'tor-ch' is not the name of a module"):
        check_modules("tor-ch", simulate=False)


def test_simulated_pods_start_neither_warm_nor_cold() -> None:
    with pytest.raises(InputError, match="--warm and --simulate exclude each other"):
        check_modules("torch", simulate=True)

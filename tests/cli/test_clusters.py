"""What `shunter up` refuses, and imports, before it starts anything."""

from __future__ import annotations

import subprocess
import sys
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


STARTING = """
import sys
from shunter.cli.main import main
from shunter.cluster import lifecycle

def launch(state, record, foreground, gate):
    print(*sorted({"asyncio", "rich", "urllib.request", "yaml"} & set(sys.modules)), "imported")
    sys.exit(5)

lifecycle.launch = launch
main()
"""


@pytest.mark.integration
def test_no_client_and_no_terminal_is_imported_before_the_components_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTING, "up", "--state-dir", str(tmp_path / "state")]
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (started.returncode, started.stdout, started.stderr) == (5, "imported\n", "")

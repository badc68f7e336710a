"""`shunter migrate diff`, as people call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.migrate.calls import migrate
from proved_job import JOB, NAIVE

pytestmark = pytest.mark.integration


def test_diff_of_a_conversion_folds_what_is_expected() -> None:
    done = migrate("diff", "-f", "-", given=JOB)
    assert done.returncode == 0
    (told,) = done.stderr.splitlines()
    assert told.startswith("Not checked: the contents of image example.org/train:1.")
    assert done.stdout.startswith("PyTorchJob bert -> TrainJob bert (pytorch-")
    assert "JobSet and Job label their pods (" in done.stdout
    assert "WORLD_SIZE" not in done.stdout


def test_diff_in_full_shows_every_rank() -> None:
    done = migrate("diff", "-f", "-", "--full", given=JOB)
    assert done.returncode == 0
    assert "bert-worker-2" in done.stdout
    assert "bert-node-0-3.bert" in done.stdout
    assert "env WORLD_SIZE of container node" in done.stdout


def test_a_trainjob_of_others_is_shown_beside_the_original(tmp_path: Path) -> None:
    (tmp_path / "naive.yaml").write_text(NAIVE)
    done = migrate("diff", "-f", "-", "--against", "naive.yaml", given=JOB, folder=tmp_path)
    assert done.returncode == 1
    assert "every pod" in done.stdout
    assert "!  env WORLD_SIZE of container node" in done.stdout
    assert "PROOF006 Master 0 is rank 0 of 4 at Master 0 in v1, and on its own in v2" in done.stdout
    refuted = migrate("validate", "-f", "-", "--against", "naive.yaml", given=JOB, folder=tmp_path)
    assert refuted.returncode == 3
    assert "fails PyTorchJob bert: objects; pods does not hold" in refuted.stdout
    assert "blocking PROOF001 Master 0: env WORLD_SIZE of container node is '4' in v1 and nothing in v2." in refuted.stderr


@pytest.mark.parametrize("form", [["--full"], ["-o", "json"]], ids=["table", "json"])
def test_diff_shows_no_credentials(form: list[str]) -> None:
    command = "curl -H 'Authorization: Bearer abcdef123456' x; python train.py --api-key tiny1 --rank ${HOSTNAME##*-}"
    env = "env: [{name: DB_PASSWORD, value: pw19}, {name: HF_TOKEN, value: hf_abcdefghijk}]"
    given = JOB.replace("command: [python, train.py]", f'command: [bash, -c, "{command}"]\n            {env}')
    assert "pw19" in given
    done = migrate("diff", "-f", "-", *form, given=given)
    assert "HOST009" in done.stdout
    assert not [secret for secret in ("pw19", "tiny1", "hf_abc", "abcdef123") if secret in done.stdout + done.stderr]


@pytest.mark.parametrize("form", [[], ["--full"], ["-o", "json"]], ids=["differences", "all", "json"])
def test_diff_shows_no_credentials_with_references_in_them(form: list[str], tmp_path: Path) -> None:
    env = (
        "env: [{name: WHO, value: me}, {name: DB_PASSWORD, value: pw19-$(PET_NNODES)-x}, {name: HF_TOKEN, value: pw19-$(WHO)},"
        " {name: USER_SECRET, value: $(WHO)-$(PET_NODE_RANK)}]"
    )
    command = 'command: [python, train.py, "--db=$(DB_PASSWORD)"]'
    (tmp_path / "naive.yaml").write_text(NAIVE)
    given = JOB.replace("command: [python, train.py]", f"{command}\n            {env}")
    for options in ([], ["--against", "naive.yaml"]):
        done = migrate("diff", "-f", "-", *options, *form, given=given, folder=tmp_path)
        assert "DB_PASSWORD" in done.stdout
        assert not [secret for secret in ("pw19", "'me-", '"me-') if secret in done.stdout + done.stderr]

"""Credentials in jobs: no page shows them, and nothing else is lost from it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import PurePath

import pytest
import yaml

from migrate.survey.briefing.given_jobs import facts
from shunter.api.secrets.masking import credentials, masked
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.emit.job import text_of
from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.survey.briefing.facts import gathered
from shunter.migrate.survey.briefing.masking import masked_manifest
from shunter.migrate.survey.briefing.site import files
from shunter.migrate.survey.scan.references import findings_of

SECRET = "hf_s3cr3t,x"
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: team-a}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: trainer:1
            command: [torchrun, train.py]
            args: ARGS
            env: ENV
"""


def job(args: str, env: str) -> str:
    return JOB.replace("ARGS", args).replace("ENV", env)


def source(text: str) -> SourceObject:
    (found,) = parsed(text, "bert.yaml")[0].objects
    return found


HIDDEN = {
    "a plain value": ("[]", f"[{{name: HF_TOKEN, value: '{SECRET}'}}]"),
    "a value in quotes": ("[]", f'\n            - name: wandb_api_key\n              value: "{SECRET}"  # secret'),
    "a value before its name": ("[]", f"\n            - value: '{SECRET}'\n              name: AWS_SECRET_ACCESS_KEY"),
    "a block of text": ("[]", f"\n            - name: DB_PASSWORD\n              value: |\n                {SECRET}"),
    "an escaped value": ("[]", '[{name: MY_CREDENTIALS, value: "hf_s3cr\\u0033t,x"}]'),
    "behind non-ASCII": ("[]", f"[{{name: NOTE, value: 'äöü \U0001f600'}}, {{name: HF_TOKEN, value: '{SECRET}'}}]"),
    "an argument": (f'["--hf-token={SECRET}", --epochs=3]', "[]"),
    "an argument of its own": (f"[--password, '{SECRET}', --epochs=3]", "[]"),
    "a text for a shell": (f"\n            - |\n              export HF_TOKEN={SECRET}\n              python train.py", "[]"),
    "a text for a shell, in quotes": (f"\n            - python train.py --api-key '{SECRET}' --lr 1", "[]"),
    "a text in YAML's quotes": (f'["python train.py --token=\\"{SECRET}\\" --lr 1"]', "[]"),
    "a key of an account": ("[]", f"[{{name: KAGGLE_KEY, value: '{SECRET}'}}]"),
    "a passphrase": (f'["--key-passphrase={SECRET}"]', "[]"),
    "a private key": ("[]", f"[{{name: SSH_PRIVATE_KEY, value: '{SECRET}'}}]"),
    "an address": (
        f"[--tracking=https://me:{SECRET}@mlflow.example.org/x]",
        f"[{{name: STORE, value: 'redis://:{SECRET}@store'}}]",
    ),
    "a text for a shell that a shell gets": (f"\n            - bash -c 'python train.py --api-key {SECRET} --lr 1'", "[]"),
    "a variable that an option gives": (f'["--env=HF_TOKEN={SECRET}"]', "[]"),
    "an account's connection": ("[]", f"[{{name: AZURE_STORAGE_CONNECTION_STRING, value: 'AccountName=a;AccountKey={SECRET}'}}]"),
    "a connection as an argument": (f'["--store=AccountName=a;AccountKey={SECRET}"]', "[]"),
    "a field": ("[]", "[]\n            securityContext: {apiToken: '" + SECRET + "'}"),
    "twice": (f"[--run={SECRET}]", f"\n            - name: HF_TOKEN\n              value: {SECRET}  # {SECRET}"),
}


@pytest.mark.parametrize("case", HIDDEN.values(), ids=list(HIDDEN))
def test_no_page_shows_a_credential(case: tuple[str, str]) -> None:
    text = job(*case)
    batch = converted([source(text)], Options())
    assert SECRET in str(yaml.safe_load(text))
    written = dict(files(gathered(batch, {}, datetime(2026, 11, 21, tzinfo=UTC))))
    for path, page in written.items():
        assert "s3cr" not in page, path
    page = written[PurePath("jobs/team-a-pytorchjob-bert.html")]
    assert page.count("***") >= 3
    assert "Hidden as ***" in page
    assert "trainer:1" in page
    (conversion,) = [outcome.conversion for outcome in batch.outcomes]
    assert conversion is not None
    assert "s3cr" in text_of(conversion)


SHOWN = {
    "a reference to a variable": ('["--token=$(HF_TOKEN)", "--token=$HF_TOKEN", --password, "${PW}"]', "[]"),
    "a Secret's key": ("[]", "[{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]"),
    "an address that refers to a password": ('["--db=postgres://me:$(PW)@db:5432/x"]', "[]"),
    "a key that sorts": ("[--sort-key=loss, --keys=1]", "[{name: KEYBOARD, value: german}]"),
    "a tokenizer": ("[--tokenizer=bert-base, --tokenizer, bert]", "[{name: LR, value: '3'}]"),
    "what counts tokens": (
        "[--max-tokens, '4096']",
        "[{name: TOKENIZERS_PARALLELISM, value: 'false'}, {name: PAD_TOKEN, value: pad}]",
    ),
    "a flag without a value": ("[--use-auth-token, --epochs=3]", "[]"),
}


@pytest.mark.parametrize("case", SHOWN.values(), ids=list(SHOWN))
def test_what_is_no_credential_is_shown(case: tuple[str, str]) -> None:
    text = job(*case)
    made = facts([source(text)])
    assert made.jobs[0].before == text
    assert not made.jobs[0].is_masked
    assert not any("***" in page for page in dict(files(made)).values())


def test_short_values_are_hidden_where_they_stand_alone() -> None:
    text = job("[--verbose=false]", "[{name: DB_PASSWORD, value: 'fal'}, {name: API_TOKEN, value: '3'}]")
    assert masked_manifest(text, credentials(yaml.safe_load(text))) == text.replace("'fal'", "***").replace("'3'", "***")


def test_a_credential_that_only_its_shape_tells_is_hidden() -> None:
    text = job("[hf_s3cr3tabcdefgh, --epochs=3]", "[]")
    assert masked_manifest(text, set()) == text.replace("hf_s3cr3tabcdefgh", "***")
    for path, page in dict(files(facts([source(text)]))).items():
        assert "s3cr" not in page, path


def test_figures_are_those_of_what_was_written() -> None:
    texts = [
        job("[]", f"\n            - name: HF_TOKEN\n              value: {value}") for value in ("first-token", "other-token")
    ]
    found = facts([source(text.replace("name: bert", f"name: {name}")) for name, text in zip("ab", texts, strict=True)])
    assert found.lines.before == sum(len(text.splitlines()) for text in texts)


def test_a_message_hides_what_is_known_and_what_says_so() -> None:
    assert masked(f"env HF is {SECRET}, --password=abc stays", {SECRET}) == "env HF is ***, --password=*** stays"


def test_commands_that_a_scan_quotes_are_shown_without_their_credentials() -> None:
    references = findings_of("a.sh", f"kubectl --token={SECRET} get pytorchjobs\n")
    page = dict(files(facts([], references=references)))[PurePath("references.html")]
    assert "s3cr" not in page
    assert "kubectl --token=*** get pytorchjobs" in page


def test_a_part_that_is_no_yaml_by_itself_is_written_anew() -> None:
    container = "{name: pytorch, image: trainer:1, command: [torchrun, a.py], env: [{name: HF_TOKEN, value: *t}]}"
    spec = f"{{pytorchReplicaSpecs: {{Master: {{template: {{spec: {{containers: [{container}]}}}}}}}}}}"
    inner = f"{{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {{name: bert, namespace: team-a}}, spec: {spec}}}"
    text = f"apiVersion: v1\nkind: List\nmetadata: {{annotations: {{t: &t {SECRET!r}}}}}\nitems:\n- {inner}\n"
    before = facts([source(text)]).jobs[0].before
    assert "s3cr" not in before
    assert "name: HF_TOKEN" in before


@pytest.mark.parametrize("part", ["token", "-a-token", "--token ", 'token="', "a" * 10, "''"])
def test_long_texts_take_one_look(part: str) -> None:
    """Looked at anew from each place, half a megabyte would take minutes."""
    text = part * (500_000 // len(part))
    began = time.process_time()
    masked(text, set())
    credentials([text, text])
    assert time.process_time() - began < 10

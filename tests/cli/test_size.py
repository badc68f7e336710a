"""`shunter size` as people call it: exit codes, forms of output, and what is said of wrong input."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

import forked_command

pytestmark = pytest.mark.integration


def shunter(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return forked_command.shunter("size", *words, environment={**os.environ, "NO_COLOR": "1"}, cwd=cwd)


def test_what_fits_is_said_first_and_the_exit_code_is_0() -> None:
    done = shunter("Llama-3.1-8B")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Llama-3.1-8B  8,030,261,248 parameters")
    assert lines[2].split()[:4] == ["fits", "1", "x", "p5.48xlarge"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("Llama-3.1-8B", "--on", "g5.48xlarge"), 1),
        (("Mixtral-8x7B",), 3),
        (("Llama-3.1-70B", "--pp", "8"), 3),
        (("Llama-3.1-8B", "--on", "g6e.48xlarge", "--nodes", "1"), 0),
        (("--params", "8B"), 0),
        (("Llama-3.1-8B", "-o", "manifests"), 3),
        (("Llama-3.1-8B", "-o", "manifests", "--on", "g5.48xlarge"), 2),
        (("GPT-2", "--on", "azure", "-o", "manifests", "--image", "x"), 0),
    ],
)
def test_the_exit_code_says_whether_it_fits(words: tuple[str, ...], code: int) -> None:
    assert shunter(*words).returncode == code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Lama-3.1-8B",), "error: model 'Lama-3.1-8B' is not known.\n       Did you mean Llama-3.1-8B?\n"),
        ((), "error: size: specify one of: a model, a config.json, --params.\n       Example: shunter size Llama-3.1-8B\n"),
        (("--params", "8"), "error: --params '8' is less than a million.\n       Write it like --params 8B, 350M or 1.5B.\n"),
        (("--params", "many"), "error: --params 'many' is not a number.\n       Write it like --params 8B, 350M or 1.5B.\n"),
        (("GPT-2", "--tokens", "-1"), "error: --tokens '-1' is not a number.\n       Write it like --tokens 8B, 350M or 1.5B.\n"),
        (("GPT-2", "--batch", "0"), "error: --batch is 0; it must be at least 1.\n"),
        (("GPT-2", "--on", "gcp"), "error: --on 'gcp': not known.\n       Use aws, azure, cluster, or machine types"),
        (("Llama-3.1-8B", "--tp", "3"), "tp must divide both.\n       Use --tp 1 or 2 or 4 or 8.\n"),
        (("GPT-2", "--name", "x"), "error: --name applies only to -o manifests.\n       Add -o manifests, or leave it out.\n"),
        (("GPT-2", "-o", "json", "--spot"), "error: --spot applies only to -o manifests.\n"),
        (("GPT-2", "--context", "x"), "error: --context applies only to --on cluster.\n       Add that, or leave it out.\n"),
        (("GPT-2", "-o", "manifests", "--image", "a b"), "error: --image 'a b': an image is named like team/train:1"),
        (("none/config.json",), "error: none/config.json: no such file.\n"),
        (("GPT-2", "--prices", "none.yaml"), "error: --prices none.yaml: no such file."),
        (("GPT-2", "--strategy", "zero4"), "error: --strategy: 'zero4' is not one of"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    done = shunter(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_config_is_read_from_its_directory(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 8192,
        "vocab_size": 128256,
        "tie_word_embeddings": True,
    }
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text(json.dumps(config))
    for word in ("mine", "mine/config.json"):
        assert shunter(word, cwd=tmp_path).stdout.startswith("mine  1,235,814,400 parameters")


def test_json_and_yaml_hold_the_same() -> None:
    words = ("Llama-3.1-8B", "--on", "p5.48xlarge")
    as_json = json.loads(shunter(*words, "-o", "json").stdout)
    assert as_json == yaml.safe_load(shunter(*words, "-o", "yaml").stdout)
    assert as_json["model"] == {"name": "Llama-3.1-8B", "parameters": 8030261248, "activeParameters": 8030261248}
    assert as_json["options"][0]["verdict"] == "fits"
    assert sum(as_json["needs"]["terms"].values()) == pytest.approx(as_json["needs"]["bytesPerGpu"], abs=10)


def test_manifests_are_objects_and_holes_are_told_apart_from_them() -> None:
    done = shunter("Llama-3.1-8B", "-o", "manifests", "--on", "p4d.24xlarge", "--kueue", "--name", "llm", "-n", "team-a")
    kinds = [obj["kind"] for obj in yaml.safe_load_all(done.stdout)]
    assert kinds == [
        "EC2NodeClass",
        "NodePool",
        "ResourceFlavor",
        "ClusterQueue",
        "LocalQueue",
        "ResourceQuota",
        "LimitRange",
        "TrainJob",
    ]
    assert "placeholder: NodePool llm: spec.template.spec.requirements[2].values[0] (--zone)" in done.stderr


def test_manifests_without_holes_end_well() -> None:
    names = ("--role", "r", "--subnet", "subnet-1", "--security-group", "sg-1", "--ami", "al2023@v20260801", "--image", "i")
    done = shunter("Llama-3.1-8B", "-o", "manifests", "--api", "pytorchjob", *names)
    assert (done.returncode, done.stderr) == (0, "for 1 x p5.48xlarge: fits\n")
    assert "hole" not in done.stdout

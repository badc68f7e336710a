"""What is told of a checkpoint of torch without torch: whether a file of it is missing or cut off."""

from __future__ import annotations

import base64
import pickle
import zlib
from pathlib import Path

import pytest

from shunter.launch.checkpoints.saved import newest_damage, saved_files
from shunter.launch.checkpoints.torch_checkpoint import damage

METADATA = zlib.decompress(
    base64.b85decode(
        "c-nnZ%Wl&^6m^=13r!@Xh95v6+C@x~CTY4XZGgx)joNO}Xl#!&qd0cz8JDIK5-b`CX?7j{g`eUdxZ^w}9$tCwoO|Y+bMM!}kDqxX`{XMTCmywY#zn&1R"
        "1n|tDDlSAm_@>x5P^Lxu#&sZ>i1C{ep6r6f!yZ;3xa&+3A6_4i}ED)Noaj0Y(#~khJ1caA|5AK@D?7CKbf9RlXyxJ!3fvzXAAgnQ_PSDvY3fg(hR~Fi="
        "!sg<^I9|CkewLyT^jXk&=68L<9=)EKY?+RhB3)=@VZ)s7v)7UaBIe=b(2Nm(J-m>J82=&ijM+fVYhdVei<vxf05i1<vk?S_>##=_BBB_Rc(GlO>O)(U_"
        "}G+ClY9AO7jrjDvs^0cKy=hHWeviu#SLwq{LToVs!su!2RSES&1wnIQbH)Tt~_LmWjUL91C%Qx>ynfWYNE=8Cpx>p`RWf@Om?WMxI!k9=~sk(>{1B50I"
        "FmemI!>-B$ECtxArGcL$P$ue5%?MFep;jAPign8W(G{u5y7^<UsM(9mJ@FFD`hAf378Ue)lRY+ZWy6C6p)TBMzpw4!TaQ|U>Z_|&|ffhP&4oj)KWmvDP"
        "4s&lS$1PnO8;JR^ZdzW*TqU0jW6th|TJ0kMb8nQ)iwS5gPMWpGF`T?{6BY)hX>tt4bo<MuU+;E1N8MVh-EG!dokqLn`p2!>NhfG~&33!nJ!wD#?6j{N2"
        "GWF)r4S!16Xa~(l7welU2Ir&s}42mH^^~wJO"
    )
)
"""As torch 2.15 writes it: dcp.save({"model": Linear(2, 1, bias=False).state_dict(), "settings": "{}"}, no_dist=True)."""
FILE, BYTES = "__0_0.distcp", 2838


def test_a_file_that_is_missing_or_too_short_is_named() -> None:
    assert damage(METADATA, {FILE: BYTES, ".metadata": len(METADATA)}) == ""
    assert damage(METADATA, {FILE: BYTES + 1}) == ""
    assert damage(METADATA, {".metadata": len(METADATA)}) == f"{FILE} is missing"
    assert damage(METADATA, {FILE: BYTES - 1}) == f"{FILE} has 2,837 bytes of 2,838"


@pytest.mark.parametrize("kept", [0, 10, 200, len(METADATA) // 2, len(METADATA) - 1])
def test_metadata_that_is_cut_off_is_told(kept: int) -> None:
    assert damage(METADATA[:kept], {FILE: BYTES}) == ".metadata is truncated"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"step": 3}',
        pickle.dumps({"torch.distributed.checkpoint": 1}),
        METADATA.replace(b"relative_path", b"anothers_path"),
        METADATA.replace(b"storage_data", b"another_name"),
    ],
)
def test_of_what_another_library_or_another_torch_has_written_nothing_is_told(content: bytes) -> None:
    assert damage(content, {"0_0.distcp": 5, "model.ubj": 5, ".metadata": len(content)}) == ""


def test_nothing_that_the_metadata_names_is_called(tmp_path: Path) -> None:
    class Writes:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return Path.touch, (tmp_path / "called",)

    content = pickle.dumps(("torch.distributed.checkpoint", Writes()))
    assert damage(content, {}) == ""
    assert not list(tmp_path.iterdir())
    pickle.loads(content)
    assert list(tmp_path.iterdir()), "it would have been"


def test_the_newest_complete_checkpoint_is_looked_at(tmp_path: Path) -> None:
    for name, metadata, size in (
        ("step-9", METADATA, 5),
        ("step-10", METADATA, BYTES),
        ("step-11", None, 5),
        ("notes", METADATA, 5),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_bytes(b"x" * size)
        if metadata is not None:
            (tmp_path / name / ".metadata").write_bytes(metadata)

    def found() -> tuple[str, str]:
        return newest_damage(saved_files(tmp_path), lambda path: (tmp_path / path).read_bytes())

    assert found() == ("", "")
    (tmp_path / "step-10" / FILE).unlink()
    assert found() == ("step-10", f"{FILE} is missing")
    (tmp_path / "step-10/.metadata").unlink()
    assert found() == ("step-9", f"{FILE} has 5 bytes of 2,838")
    (tmp_path / "step-9/.metadata").write_bytes(b"")
    assert found() == ("step-9", ".metadata is truncated")
    (tmp_path / "step-9/.metadata").write_bytes(METADATA)
    assert newest_damage(saved_files(tmp_path), lambda path: b"") == ("", ""), "which may not be read"
    assert newest_damage([], Path.read_bytes) == ("", "")  # type: ignore[arg-type]

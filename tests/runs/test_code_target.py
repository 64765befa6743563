"""The CPU and the compilers are recorded, and saved summaries serve only those that would make the same bits."""

import json
from importlib.metadata import version

import pytest

from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles
from geouq.runs import provenance
from geouq.runs.plan import settings_for
from geouq.runs.store import key_of_tile

TEXT = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"
OTHERS = {
    "name": ("another-cpu", "+avx2", "1", "2"),
    "features": ("cpu", "+avx2,+avx512f", "1", "2"),
    "numba": ("cpu", "+avx2", "3", "2"),
    "llvmlite": ("cpu", "+avx2", "1", "3"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_cpu_or_compiler_is_another_key(what, tile_folder, monkeypatch):
    experiment = load_experiment(tile_folder(("a1",), text=TEXT))
    catalog = find_tiles(experiment)
    keys = []
    for target in (("cpu", "+avx2", "1", "2"), OTHERS[what]):
        monkeypatch.setattr("geouq.runs.store.code_target", lambda target=target: target)
        keys.append(key_of_tile(catalog.tiles[0], settings_for(experiment, catalog)))

    assert keys[0] != keys[1]


def test_the_key_and_the_record_have_the_cpu_for_which_numba_compiles(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1",), text=TEXT)
    assert geouq("run", config, "--quiet").exit_code == 0

    record = json.loads((tmp_path / "results/small/run.json").read_text(encoding="utf-8"))
    assert record["cpu"] == provenance.processor()
    assert provenance.code_target() == (*record["cpu"].values(), version("numba"), version("llvmlite"))
    assert (record["versions"]["numba"], record["versions"]["llvmlite"]) == (version("numba"), version("llvmlite"))
    assert geouq("verify", tmp_path / "results/small").exit_code == 0

    monkeypatch.setattr("geouq.runs.verification.processor", lambda: {"name": "another", "features": ""})
    done = geouq("verify", tmp_path / "results/small")
    assert done.exit_code == 1
    assert "changed: the CPU is another now" in done.stdout


def test_summaries_of_another_cpu_are_swept_again(tile_folder, geouq, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    assert geouq("run", config).exit_code == 0
    assert "2 of 2 tiles are summarised already" in geouq("run", config).stderr
    monkeypatch.setattr("geouq.runs.store.code_target", lambda: ("another", "", "", ""))

    assert "summarised already" not in geouq("run", config).stderr


def test_the_environment_sets_the_cpu(monkeypatch):
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    monkeypatch.setattr("numba.config.CPU_FEATURES", "+sse2")

    assert provenance.processor.__wrapped__() == {"name": "generic", "features": "+sse2"}


def test_a_record_of_an_earlier_version_names_no_cpu(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=TEXT)
    geouq("run", config, "--quiet")
    path = tmp_path / "results/small/run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["cpu"], record["sha256"]
    path.write_text(json.dumps(record), encoding="utf-8")

    assert geouq("verify", tmp_path / "results/small").exit_code == 0

"""The files to copy for clusters, with real processes in the place of what SLURM and Kubernetes start."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from benchmarks.costs import OfTile, costs
from clusters import LONG

ROOT = Path(__file__).parents[1]
FILES = ROOT / "docs" / "how-to" / "cluster"
HERE = f"#!{sys.executable}\n"
GEOUQ = HERE + "from geouq.__main__ import main\nmain()\n"
DASK = HERE + "import sys\nfrom dask.__main__ import main\nsys.exit(main())\n"
SBATCH = (
    HERE + "import shutil, subprocess, sys\n"
    "job = shutil.copy(sys.argv[1], 'job.sh')\n"
    "with open('job.log', 'w') as log:\n"
    "    started = subprocess.Popen(['bash', job], stdout=log, stderr=log, start_new_session=True)\n"
    "print('Submitted batch job', started.pid)\n"
)
SCANCEL = (
    HERE + "import contextlib, os, signal, sys\n"
    "for job in sys.argv[1:]:\n"
    "    with contextlib.suppress(ProcessLookupError):\n"
    "        os.killpg(int(job), signal.SIGTERM)\n"
)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs that the files name, in a folder that stands first in the path; processes that end with the test."""
    pytest.importorskip("distributed")
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {"geouq": GEOUQ, "dask": DASK, "sbatch": SBATCH, "scancel": SCANCEL}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    started = []
    yield lambda command: started.append(subprocess.Popen(command, cwd=tmp_path)) or started[-1]
    for process in started:
        process.kill()
        process.wait(LONG)


@pytest.fixture
def config(tile_folder):
    return tile_folder(text="variables: [height]\noutput: {maps: none, figures: none}\n")


def test_the_file_for_slurm_runs_what_it_is_given(programs, config, tmp_path):
    """With programs that start a job on this machine as `sbatch` would on another."""
    pytest.importorskip("dask_jobqueue")
    text = (FILES / "slurm.py").read_text()
    for many, few in (("JOBS = 20", "JOBS = 1"), ("cores=16", "cores=1"), ("processes=16", "processes=1")):
        assert many in text
        text = text.replace(many, few)
    (tmp_path / "slurm.py").write_text(text)

    ended = programs([sys.executable, "slurm.py", str(config), "--out", "results"]).wait(LONG)

    assert ended == 0, (tmp_path / "job.log").read_text()
    assert (tmp_path / "results" / "tables" / "metrics.csv").exists()
    job = (tmp_path / "job.sh").read_text()
    assert "#SBATCH -p compute" in job
    assert "--nthreads 1" in job
    assert "--lifetime 3h" in job


def kubernetes():
    return {
        (one["kind"], one["metadata"]["name"]): one
        for one in yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())
    }


def pod_of(part):
    template = kubernetes()[part]["spec"]["template"]["spec"]
    (container,) = template["containers"]
    return template, container


PARTS = [("Deployment", "geouq-scheduler"), ("Deployment", "geouq-worker"), ("Job", "geouq")]


def test_the_file_for_kubernetes_is_consistent():
    found = kubernetes()
    assert set(found) == {("Service", "geouq-scheduler"), *PARTS}
    scheduler, worker = (found[part]["spec"] for part in PARTS[:2])
    assert found["Service", "geouq-scheduler"]["spec"]["selector"] == scheduler["selector"]["matchLabels"]
    for deployment in (scheduler, worker):
        assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    pods = [pod_of(part) for part in PARTS]
    assert len({container["image"] for _, container in pods}) == 1
    for template, container in pods:
        mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
        assert mounted == {volume["name"] for volume in template.get("volumes", ())}


def test_the_commands_of_the_file_for_kubernetes_run(programs, config, tmp_path):
    scheduler, worker, run = (pod_of(part)[1]["command"] for part in PARTS)
    place = tmp_path / "scheduler.json"
    ours = {"tcp://geouq-scheduler:8786": str(place), "8786": "0", "/results/forest.yaml": str(config)}

    def here(command):
        return [ours.get(word, word) for word in command]

    programs([*here(scheduler), "--scheduler-file", str(place), "--host", "127.0.0.1"])
    programs([word for word in here(worker) if word != str(place)] + ["--scheduler-file", str(place)])
    end = time.monotonic() + LONG
    while not (place.exists() and place.read_text().endswith("}")):
        assert time.monotonic() < end
        time.sleep(0.05)
    ended = programs([*here(run), "--out", "results"]).wait(LONG)

    assert ended == 0
    assert (tmp_path / "results" / "tables" / "metrics.csv").exists()


def cost(text):
    return float(text.split()[0].replace(",", "")) if text else None


def test_the_costs_of_many_pixels_follow_from_those_of_a_tile():
    """To the digits that the page shows."""
    page = (FILES.parent / "cluster.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    found = {
        row[0]: (cost(row[1]), cost(row[2]))
        for row in rows
        if len(row) == 3 and row[0] != "what" and row[2][:1].isdigit()
    }
    of_tile = [own for own, _ in found.values() if own is not None][1:]
    worker, shared, sent, numbers, scheduler, megabytes, requests, kept = of_tile
    side = int(re.search(r"A tile of (\d+) x", page)[1])
    tile = OfTile(side**2, worker, shared, sent, scheduler, numbers, megabytes * 1e6, kept * 1e6, requests)
    total = costs(tile, 1e12)

    expected = [
        total.tiles, total.worker_hours, total.shared_hours, total.sent_hours, total.numbers_hours,
        total.scheduler_hours, total.terabytes_read, total.million_requests, total.gigabytes_kept,
        total.most_workers_shared, total.most_workers_sent,
    ]  # fmt: skip
    assert [many for _, many in found.values()] == pytest.approx(expected, rel=0.07, abs=0.006)

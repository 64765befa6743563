"""Run geouq on workers that SLURM starts: `python slurm.py forest.yaml`, on a node from which jobs may be submitted.

Needs `pip install 'geouq[cluster]' dask-jobqueue` in a folder that all nodes see. Change what is marked.
"""

import subprocess
import sys

from dask_jobqueue import SLURMCluster

JOBS = 20  # change: number of jobs

with SLURMCluster(
    queue="compute",  # change: partition
    account="my-project",  # change
    cores=16,  # change: of a job
    processes=16,  # workers with one thread each, so that a crash costs one tile
    memory="32GB",  # change: of a job; a worker needs 1 to 2 GB
    walltime="04:00:00",
    worker_extra_args=["--lifetime", "3h", "--lifetime-stagger", "30m"],  # workers end before SLURM kills them
    log_directory="slurm-logs",
) as cluster:
    cluster.adapt(minimum_jobs=JOBS, maximum_jobs=JOBS)  # a job that has ended is replaced
    command = ["geouq", "run", *sys.argv[1:], "--scheduler", cluster.scheduler_address]
    sys.exit(subprocess.run(command, check=False).returncode)

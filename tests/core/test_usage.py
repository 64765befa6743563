"""What the system says of this process, and a system that says nothing."""

import os
import subprocess
import sys

import pytest

from geouq.core import usage

WITHOUT = """import os, sys
sys.modules["resource"] = None  # as if there were none
del os.sysconf
import geouq.pipeline.run
from geouq.rasters.raster import most_open
from geouq.core.usage import machine_memory, peak_memory_mib, resources
assert most_open() >= 1
assert peak_memory_mib() == 0
assert 0 < machine_memory() <= 8 << 30
assert resources(1.0).startswith("took 1.0 s, ")
"""


def test_a_system_without_the_module_resource_and_sysconf_is_no_hindrance():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=600)


def test_the_system_says_what_was_used():
    assert usage.open_files_allowed() > 0
    assert usage.physical_memory() > usage.peak_memory() > 1 << 20
    assert usage.processor_seconds() > 0


ENDS_QUICKLY = """import atexit, gc
from geouq.core.usage import end_quickly
before = gc.get_freeze_count()  # more than none since Python 3.12
atexit.register(lambda: print(gc.get_freeze_count() > before))  # called after what is registered later
end_quickly()
print(gc.get_freeze_count() > before)
"""


def test_a_process_that_ends_quickly_looks_at_no_object_at_its_end():
    done = subprocess.run([sys.executable, "-c", ENDS_QUICKLY], check=True, timeout=600, capture_output=True, text=True)

    assert done.stdout.split() == ["False", "True"]


ONE_THREAD = """import os, sys
sys.argv = ["geouq", "--version"]
from geouq.__main__ import main
try:
    main()
except SystemExit:
    print(os.environ["OPENBLAS_NUM_THREADS"], "numpy" in sys.modules)
"""


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_matrices_are_computed_in_one_thread_unless_the_user_says_otherwise(given, threads, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", ONE_THREAD], check=True, timeout=600, capture_output=True, text=True,
        env=os.environ | given,
    )  # fmt: skip

    assert done.stdout.splitlines()[-1].split()[0] == threads

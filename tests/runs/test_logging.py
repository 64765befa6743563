"""Messages of calls from Python go through `logging`; the program prints them itself."""

import logging
import subprocess
import sys

import geouq as package

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"
GATE = "gates: [{metric: coverage_90, variable: height, min: 0.999}]\n"


def test_a_program_that_configures_no_logging_prints_nothing(tile_folder):
    code = f"import geouq; geouq.run({str(tile_folder(text=SHORT + GATE))!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=600, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("", "")


def test_stages_steps_and_what_failed_are_logged_with_their_levels(tile_folder, tmp_path, caplog):
    config = tile_folder(text=SHORT + GATE)
    broken = next(tmp_path.rglob("a1_mean.tif"))
    broken.write_bytes(broken.read_bytes()[:600])
    with caplog.at_level(logging.DEBUG, "geouq"):
        results = package.run(config)

    logged = {(record.name, record.levelno, record.message) for record in caplog.records}
    assert ("geouq.results", logging.ERROR, str(results.failures[0])) in logged
    assert ("geouq.results", logging.ERROR, f"gate failed: {results.gates[0]}") in logged
    assert ("geouq.progress", logging.INFO, "sweep: 2 steps") in logged
    steps = [message for name, level, message in logged if level == logging.DEBUG and message.startswith("sweep ")]
    assert sorted(step.rpartition(" ")[2] for step in steps) == ["a2", "b1"]


def test_the_command_line_prints_what_it_printed_without_logging(tile_folder, geouq, caplog):
    config = tile_folder(text=SHORT + GATE)
    with caplog.at_level(logging.DEBUG, "geouq"):
        done = geouq("run", config, "--quiet")

    assert done.output.count("gate failed: ") == 1
    assert not [record for record in caplog.records if record.name == "geouq.progress"]

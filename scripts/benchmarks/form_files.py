"""The sweep of ensembles, quantiles and probabilities against decoding the same files."""

import time
from functools import partial

from benchmarks.choices import Choice
from benchmarks.decoding import decode
from benchmarks.form_rasters import CLASSES, FORMS, LEVELS, MEMBERS, make_forms
from benchmarks.measure import RATIO, Table, compare, ratio_row
from benchmarks.sweeps import sweep_of


def form_files_section(choice: Choice) -> Table:
    """Sweep of each form against decoding it."""
    folder, rows = make_forms(choice.data, choice.side()), []
    for form in FORMS:
        config, paths = form.config(folder), form.paths(folder)
        for threads in sorted({1, choice.threads}):
            works = sweep_of(config, threads), partial(decode, paths, threads)
            ratio = compare(*works, choice.times(), time.process_time)
            rows.append(ratio_row(f"{form.name}, {threads} thread{'s' * (threads > 1)}", ratio, "<= 1.5"))
    return Table(
        "Ensembles, quantiles, probabilities: sweep / decoding",
        f"One variable, {choice.side()} x {choice.side()} pixels, 30 % missing, DEFLATE in band order; "
        f"{MEMBERS} members, {len(LEVELS)} quantiles, {CLASSES} classes. "
        "By the processors' time.",
        ("files", *RATIO),
        tuple(rows),
    )

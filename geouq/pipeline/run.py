"""A run from top to bottom: prepare, sweep, evaluate, publish.

Each stage is a module in this folder. It takes the result of the stage before it.
"""

from geouq.config import Configuration
from geouq.core.compiled import mark_compiled
from geouq.core.processes import Helpers
from geouq.pipeline.data import DEFAULTS, Job, Options
from geouq.pipeline.early import helping_early
from geouq.pipeline.evaluate import evaluate
from geouq.pipeline.prepare import helpers_in_memory, helping, inspect, prepare, prepare_again, reopened, working
from geouq.pipeline.publish import publish
from geouq.pipeline.results import Results
from geouq.pipeline.sweep import save, sweep
from geouq.runs.progress import Reporter


def run(experiment: Configuration, options: Options = DEFAULTS, reporter: Reporter | None = None) -> Results:
    """Evaluate an experiment: sweep, maps, then all that follows from the summaries.

    Tiles whose summaries are saved and still valid are not read again. A tile that fails does not stop the others: it
    is in the table of failures. A tile whose files change while they are read is read once more, but no third time.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        What to evaluate: a YAML file, a mapping of the keys of such a file, or an Experiment.
    options : Options
        How to carry it out, which changes no number.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Results
        Tables, failures, warnings and the files written.

    Raises
    ------
    ConfigError
        If the configuration is wrong or names nothing that can be evaluated.
    ArgumentError
        If an argument has a wrong type.
    """
    job = prepare(experiment, options, reporter)
    with helping_early(job.experiment, options.workers, options.memory) as early:
        return carry_out(job, early)


def carry_out(job: Job, early: Helpers) -> Results:
    """Evaluate what is prepared, with the help of processes that began early; otherwise some may begin later."""
    fitting = helpers_in_memory(job, early)
    with working(job) as workers:
        swept = sweep(inspect(job), workers)
        if again := prepare_again(job, swept.changed):
            swept = swept.then(sweep(inspect(again), workers))
        save(swept, workers)
        with helping(swept, fitting) as shared:
            evaluated = evaluate(swept, shared)
            results = publish(evaluated, shared)
            mark_compiled()
            return results


def report(folder: Configuration, reporter: Reporter | None = None) -> Results:
    """Write tables, cell maps, figures and pages again from the saved summaries of a run.

    Parameters
    ----------
    folder : path, mapping or Experiment
        Folder of the run, or the configuration that names it: a YAML file, a mapping or an Experiment.
    reporter : Reporter, optional
        Receives the progress.

    Returns
    -------
    Results
        Tables, failures, warnings and the files written.

    Raises
    ------
    SummaryError
        If the folder holds no run, or its summaries are damaged.
    ArgumentError
        If an argument has a wrong type.
    """
    with reopened(folder, reporter) as swept, helping(swept) as shared:
        evaluated = evaluate(swept, shared)
        return publish(evaluated, shared)

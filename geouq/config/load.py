"""From a configuration file to an experiment, and back.

A configuration may hold credentials in the addresses of rasters and vectors, and nowhere else. Every other text, such
as the name of a region, is written to tables, figures and names of files.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from geouq.config.layer_file import ALIASES, LAYER_KEYS, OF_NAMES, LayerFile, add_mappings
from geouq.config.model import Experiment
from geouq.config.tiles import FILES as OF_TILES
from geouq.config.tiles import SOURCES
from geouq.config.validation_errors import Problem, Steps, config_error, one_line
from geouq.config.values import FORM_KEYS, is_path
from geouq.config.yaml_text import Written, as_written, is_file, merged, read_yaml
from geouq.core.errors import ConfigError, as_path, wrong_type
from geouq.core.extensions import load_extensions
from geouq.core.naming import file_in_name, with_file
from geouq.core.redaction import environment_read_once, holds_secret, redacted

# URLs, GDAL's virtual files, and its names with a driver in front
FILES = ("polygons", "classes")  # keys of a region that name a file
IN_MEMORY = Path("configuration")  # stands for the file of a mapping, in the current folder
Configuration = str | os.PathLike[str] | Mapping[str, Any] | Experiment
NOT_RELATIVE = re.compile(r"/|[A-Za-z][\w+.-]*://|[A-Z][A-Z0-9_]+:")
OF_TRUTH = ("gates", "recalibration", "training_tiles")  # keys without meaning if there is no truth
NO_MEAN = "a forecast without a layer of the mean (ensembles, quantiles) has no means of areas here"
TODO = "TODO"  # what geouq init writes where it does not know a value
NOT_WRITTEN = "replace TODO by the value"
_ADDRESSES = ("data", "models", "reference_mean")
_OF_REGIONS = ("polygons", "classes", "where")
_MESSAGE = (
    "holds what looks like a password, a token or a signed query, which would be written to tables and names of files; "
    "write it in the path of a layer, or give it in the environment, such as GDAL_HTTP_BEARER"
)


@environment_read_once()
def load_experiment(experiment: Configuration, *, overrides: Mapping[str, Any] | None = None) -> Experiment:
    """Return the experiment that a YAML file or a mapping describes.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        YAML file, which may extend others; a mapping of the keys of such a file; or an Experiment, which is returned
        as it is if there are no overrides.
    overrides : mapping, optional
        Values that replace those of the experiment, in the shape of the file, such as
        ``{"output": {"directory": "elsewhere"}}``.

    Returns
    -------
    Experiment
        Paths in a file are relative to its folder, those in mappings to the current folder.

    Raises
    ------
    ConfigError
        If the configuration is wrong. The message lists every fault, a line each, with file, line and a suggestion.
    ArgumentError
        If `experiment` or `overrides` has a wrong type.

    Examples
    --------
    >>> files = {"mean": "{tile}_mean.tif", "std": "{tile}_std.tif", "truth": "{tile}.tif"}
    >>> load_experiment({"version": 1, "name": "forest", "data": files}).name
    'forest'
    """
    if not isinstance(overrides, Mapping | None):
        raise wrong_type("overrides", overrides, "give a mapping in the shape of the file")
    load_extensions()
    if isinstance(experiment, Experiment) and overrides is None:
        return experiment
    return _validated(*_read(experiment, overrides))


def _read(experiment: Configuration, overrides: Mapping[str, Any] | None) -> tuple[Written, Path, list[Problem]]:
    """Return the written values, their file, and the problems that are found before validation."""
    if isinstance(experiment, Experiment):
        experiment = experiment.model_dump(mode="json", exclude_none=True)
    if isinstance(experiment, Mapping):
        source = IN_MEMORY
        root, problems = _upon_base(as_written(experiment, source), [], source, ())
    else:
        source = as_path(
            "experiment", experiment, "give the path of a YAML file, a mapping of its keys, or an Experiment"
        )
        root, problems = _with_bases(source, ())
    if overrides is not None:
        root = replace(merged(root, as_written(overrides)), file=source, line=1)
    _require_written(root, problems)
    root, reference_faults = _with_labels(_with_paths(root))
    return root, source, [*problems, *reference_faults, *problems_of_credentials(root)]


def _validated(
    root: Written, source: Path, problems: list[Problem], data: Mapping[str, Any] | None = None
) -> Experiment:
    """Return the validated experiment; `data` replaces the written values, for an experiment without truth."""
    try:
        plain, alone = (root.plain(), False) if data is None else (data, True)
        context = {"source": source, "written": root, "predictions_alone": alone}
        found = Experiment.model_validate(plain, context=context)
    except ValidationError as error:
        problems = problems + [
            root.problem(problem["loc"], problem["msg"]) for problem in error.errors(include_url=False)
        ]
    if problems:
        raise config_error(problems)
    return found


@environment_read_once()
def load_predictions(experiment: Configuration) -> Experiment:
    """Return the experiment without its truth: the prediction is in its place, so that every prediction counts.

    What needs the truth (gates, splits, recalibration, maps, figures) is left out. `truth` may be missing.

    Raises
    ------
    ConfigError
        As `load_experiment`, or if the forecast has neither a layer of the mean nor probabilities of classes.
    """
    load_extensions()
    root, source, problems = _read(experiment, None)
    plain = {key: value for key, value in root.plain().items() if key not in OF_TRUTH}
    data, variables = plain.get("data"), plain.get("variables")
    if isinstance(data, Mapping):
        kept = {key: value for key, value in data.items() if not key.startswith("truth")}
        mean = kept.get("mean") or kept.get("probabilities") or next(iter(_means(plain.get("models"))), None)
        if mean is None:
            problems.append(root.problem(("data",), NO_MEAN))
        plain["data"] = {**kept, "truth": mean}
    if isinstance(variables, Mapping):
        plain["variables"] = {name: _of_mean(own) for name, own in variables.items()}
    output = plain.get("output")
    plain["output"] = {**(output if isinstance(output, Mapping) else {}), "maps": "none", "figures": "none"}
    return _validated(root, source, problems, plain)


def _means(models: object) -> Iterator[object]:
    """Yield the layer of the mean of each model that is given with its rasters."""
    if isinstance(models, Mapping):
        yield from (own["mean"] for own in models.values() if isinstance(own, Mapping) and "mean" in own)


def _of_mean(settings: object) -> object:
    """Return the settings of a variable, with the band of the mean for the truth."""
    if not isinstance(settings, Mapping):
        return settings
    kept = {key: value for key, value in settings.items() if not key.startswith("truth")}
    band = kept.get("mean")
    if isinstance(band, Mapping):  # of several models
        band = next(iter(band.values()))
    return kept if band is None else {**kept, "truth": band}


def folder_of_run(name: str, run: Configuration) -> Path:
    """Return the folder of the results of a run: that folder, or what describes the experiment.

    Raises ArgumentError, which calls the argument by its name, if it is none of these.
    """
    if not isinstance(run, Experiment | Mapping):
        path = as_path(name, run, "give the folder of a run, or the path of its YAML file, a mapping or an Experiment")
        if not path.is_file():
            return path
    return load_experiment(run).output_directory


def to_yaml(experiment: Experiment, *, credentials: bool = True) -> str:
    """Write the resolved configuration: without bases, and equal to `experiment` when loaded again.

    Parameters
    ----------
    experiment : Experiment
        The configuration.
    credentials : bool
        Write passwords and tokens in addresses; otherwise a mark stands in their place.
    """
    resolved = experiment.model_dump(mode="json", exclude_none=True)
    return yaml.dump(
        resolved if credentials else redacted(resolved), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000
    )


class _Dumper(yaml.SafeDumper):
    """Escapes line breaks of every kind: single quotes would turn some into blanks."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _text_node)


def json_schema() -> dict[str, Any]:
    """Make the JSON Schema (draft 2020-12) for editors; a file that extends another may be partial."""
    schema = Experiment.model_json_schema()
    for section in ("Data", "FormData", "PredictionFiles"):
        del schema["$defs"][section]["required"]
    layer = LayerFile.model_json_schema()
    layer.pop("$defs")  # those of the tiles, which are there
    schema["$defs"]["LayerFile"] = layer
    for section in ("Data", "FormData", "PredictionFiles"):
        add_mappings(schema["$defs"][section]["properties"])
    either = [{"required": [key]} for key in ("variance", "std", "relative_std", "standard_error", "cv")]
    either.append({"required": ["lower", "upper", "level"]})
    predicted = {"required": ["mean"], "oneOf": either}
    of_any_form = {"oneOf": [predicted, *({"required": [key]} for key in FORM_KEYS)]}
    whole = {
        "required": schema.pop("required"),
        "properties": {"data": {"required": ["truth"]}},
        "if": {"properties": {"models": {"type": "object"}}, "required": ["models"]},
        "then": {"properties": {"models": {"additionalProperties": predicted}}},
        "else": {"properties": {"data": of_any_form}},
    }
    extends = {
        "type": "string",
        "description": "a configuration, relative to this file, that this one is laid upon",
    }
    schema["properties"] = {"extends": extends, **schema["properties"]}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "if": {"not": {"required": ["extends"]}}, "then": whole}


def _with_bases(file: Path, above: tuple[Path, ...]) -> tuple[Written, list[Problem]]:
    """Return a file merged with the chain of files that it extends. `above` are the files that extend it."""
    return _upon_base(*read_yaml(file), file, above)


def _upon_base(
    root: Written, problems: list[Problem], file: Path, above: tuple[Path, ...]
) -> tuple[Written, list[Problem]]:
    """Return the content of a file merged with the chain of files that it extends."""
    extends = root.entries.get("extends")
    if extends is None or extends.value is None:
        return _without_extends(root), problems
    chain = above if file is IN_MEMORY else (*above, file)
    if not isinstance(extends.value, str):
        problem = root.problem(("extends",), "needs the path of one configuration")
        return _without_extends(root), [*problems, problem]
    base = Path(os.path.normpath(file.parent / extends.value))
    if not is_file(base):
        raise config_error([*problems, root.problem(("extends",), f"there is no file {one_line(str(base))}")])
    if any(base.samefile(member) for member in chain):
        cycle = " -> ".join(one_line(str(member)) for member in (*chain, base))
        raise config_error([*problems, root.problem(("extends",), f"files extend one another in a cycle: {cycle}")])
    try:
        below, problems_below = _with_bases(base, chain)
    except ConfigError as error:
        raise ConfigError("\n".join([*map(str, problems), str(error)])) from None
    return merged(below, _without_extends(root)), problems + problems_below


def _without_extends(root: Written) -> Written:
    return replace(root, value={key: node for key, node in root.entries.items() if key != "extends"})


def _with_paths(root: Written) -> Written:
    """Resolve each path against the folder of the file in which it was written."""
    value = dict(root.entries)
    if "reference_mean" in value:
        value["reference_mean"] = _resolved(value["reference_mean"])
    if "data" in value and isinstance(value["data"].value, dict):
        value["data"] = _with_layers(value["data"])
    if "models" in value and isinstance(value["models"].value, dict):
        value["models"] = _with_layers(value["models"])
    if "regions" in value and isinstance(value["regions"].value, dict):
        value["regions"] = _with_files(value["regions"])
    if "tiles" in value and isinstance(value["tiles"].value, dict):
        value["tiles"] = _with_file(value["tiles"], OF_TILES)
    return replace(root, value=value)


def _with_files(regions: Written) -> Written:
    """Return the same for the file of each region that has one."""
    entries = {
        name: _with_file(region, FILES) if isinstance(region.value, dict) else region
        for name, region in regions.entries.items()
    }
    return replace(regions, value=entries)


def _with_file(mapping: Written, keys: Collection[str]) -> Written:
    """Return the same for the files that these keys of a mapping name."""
    return replace(mapping, value={k: _resolved(v) if k in keys else v for k, v in mapping.entries.items()})


def _with_layers(data: Written, key: str = "") -> Written:
    """Return the same for each layer; what is below another key is a word, a number, or faulty."""
    if key == "tiles" and isinstance(data.value, dict):
        return _with_file(data, SOURCES)
    if isinstance(data.value, dict):
        below = {name: _with_layers(node, "path" if key in OF_NAMES else name) for name, node in data.value.items()}
        return replace(data, value=below)
    of_layer = (
        key in (*LAYER_KEYS, *ALIASES, *OF_NAMES, "path") and isinstance(data.value, str) and is_path(key, data.value)
    )
    return _resolved(data) if of_layer or "{tile}" in str(data.value) else data


def _resolved(node: Written) -> Written:
    if not node.value or not isinstance(node.value, str) or NOT_RELATIVE.match(file := file_in_name(node.value)):
        return node
    folder = node.file.parent.resolve() if node.file else Path.cwd()
    return replace(node, value=with_file(node.value, os.path.normpath(folder / file)))


def _with_labels(root: Written) -> tuple[Written, list[Problem]]:
    """Read the training statistics that `reference_mean` names, unless `labels_mean` is given already."""
    reference, given = root.entries.get("reference_mean"), root.entries.get("labels_mean")
    if reference is None or not isinstance(reference.value, str) or not reference.value or (given and given.value):
        return root, []
    file = Path(reference.value)
    if not is_file(file):
        return root, [root.problem(("reference_mean",), f"there is no file {one_line(str(file))}")]
    try:
        statistics, problems = read_yaml(file)
    except ConfigError as error:
        return root, [root.problem(("reference_mean",), str(error))]
    labels = statistics.entries.get("labels_mean")
    if labels is None or labels.value is None:
        missing = "missing key 'labels_mean': the mean of each band's training labels, in band order"
        return root, [*problems, statistics.problem((), missing)]
    return replace(root, value={**root.entries, "labels_mean": labels}), problems


def problems_of_credentials(root: Written) -> list[Problem]:
    """Return a fault for each text with credentials that is not an address."""
    return [root.problem(steps, _MESSAGE) for steps in _places(root, ())]


def _places(node: Written, steps: Steps) -> Iterator[Steps]:
    if isinstance(node.value, dict):
        for key, entry in node.value.items():
            if holds_secret(key):
                yield steps
            yield from _places(entry, (*steps, key))
    elif isinstance(node.value, list):
        for i, entry in enumerate(node.value):
            yield from _places(entry, (*steps, i))
    elif node.value and not _is_address(steps) and holds_secret(node.value):
        yield steps


def _require_written(root: Written, problems: list[Problem]) -> None:
    """Raise ConfigError where a value is still TODO: what else follows from that would only hide it."""
    if unwritten := [root.problem(steps, NOT_WRITTEN) for steps in _unwritten(root, ())]:
        raise config_error([*problems, *unwritten])


def _unwritten(node: Written, steps: Steps) -> Iterator[Steps]:
    """Yield the places of values that are still TODO."""
    if node.value == TODO:
        yield steps
    for key, entry in node.entries.items():
        yield from _unwritten(entry, (*steps, key))


def _is_address(steps: Steps) -> bool:
    files = {"regions": _OF_REGIONS, "tiles": (*OF_TILES, "where")}
    return bool(steps) and (steps[0] in _ADDRESSES or steps[-1] in files.get(str(steps[0]), ()))

"""What an experiment is: strict YAML, frozen models, every fault at once with its line and a suggestion."""

from geouq.config.alignment import ALIGNMENTS, Alignment, problem_of_alignment
from geouq.config.data import NOISES, Data, FormData, PredictionFiles, SharedData, key_of, model_and_layer
from geouq.config.forms import FormFiles
from geouq.config.layer_bands import OF_PREDICTIONS, LayerBands
from geouq.config.layer_file import LayerFile
from geouq.config.load import Configuration, folder_of_run, json_schema, load_experiment, to_yaml
from geouq.config.model import CalibrationWeights, Experiment
from geouq.config.regions import IN, OUT, ClassRegions, DerivedRegion, PolygonRegions, StepRegions
from geouq.config.sections import (
    EQUAL_COUNT_10,
    EQUAL_WIDTH_10,
    GROUPS,
    K_FOLD,
    LEAVE_ONE_REGION_OUT,
    Bins,
    BinScheme,
    Gate,
    Groups,
    Intervals,
    Output,
    Recalibration,
    VarianceRule,
    length,
    preferred_first,
    problem_of_groups,
)
from geouq.config.tiles import FileTiles, StacTiles, TileCut, TileIndex, Tiles, asset_in
from geouq.config.validation_errors import Problem, config_error, quoted, suggestion
from geouq.config.values import (
    CALIBRATION_LEVELS,
    CELLS,
    FORM_KEYS,
    SPLIT,
    TILE,
    VARIABLE,
    problem_of_name,
)
from geouq.config.variables import Variable

__all__ = [
    "ALIGNMENTS",
    "CALIBRATION_LEVELS",
    "CELLS",
    "EQUAL_COUNT_10",
    "EQUAL_WIDTH_10",
    "FORM_KEYS",
    "GROUPS",
    "IN",
    "K_FOLD",
    "LEAVE_ONE_REGION_OUT",
    "NOISES",
    "OF_PREDICTIONS",
    "OUT",
    "SPLIT",
    "TILE",
    "VARIABLE",
    "Alignment",
    "BinScheme",
    "Bins",
    "CalibrationWeights",
    "ClassRegions",
    "Configuration",
    "Data",
    "DerivedRegion",
    "Experiment",
    "FileTiles",
    "FormData",
    "FormFiles",
    "Gate",
    "Groups",
    "Intervals",
    "LayerBands",
    "LayerFile",
    "Output",
    "PolygonRegions",
    "PredictionFiles",
    "Problem",
    "Recalibration",
    "SharedData",
    "StacTiles",
    "StepRegions",
    "TileCut",
    "TileIndex",
    "Tiles",
    "Variable",
    "VarianceRule",
    "asset_in",
    "config_error",
    "folder_of_run",
    "json_schema",
    "key_of",
    "length",
    "load_experiment",
    "model_and_layer",
    "preferred_first",
    "problem_of_alignment",
    "problem_of_groups",
    "problem_of_name",
    "quoted",
    "suggestion",
    "to_yaml",
]

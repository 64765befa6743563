"""What an experiment is: strict YAML, frozen models, every fault at once with its line and a suggestion."""

from geouq.config.bins import EQUAL_COUNT_10, EQUAL_WIDTH_10, GROUPS, Bins, BinScheme, Groups, preferred_first
from geouq.config.data import Data, FormData, SharedData
from geouq.config.forms import FormFiles
from geouq.config.intervals import Intervals, length
from geouq.config.layer_bands import OF_PREDICTIONS, LayerBands
from geouq.config.load import Configuration, folder_of_run, json_schema, load_experiment, to_yaml
from geouq.config.model import CalibrationWeights, Experiment
from geouq.config.output import Gate, Output, VarianceRule
from geouq.config.prediction import PredictionFiles, key_of, model_and_layer
from geouq.config.recalibration import K_FOLD, LEAVE_ONE_REGION_OUT, Recalibration, fault_of_groups
from geouq.config.regions import ClassRegions, DerivedRegion, PolygonRegions
from geouq.config.splits import IN, OUT
from geouq.config.validation_errors import Fault, config_error, quoted, suggestion
from geouq.config.values import (
    CALIBRATION_LEVELS,
    CELLS,
    FORM_KEYS,
    SPLIT,
    fault_of_name,
)
from geouq.config.variables import Variable

__all__ = [
    "CALIBRATION_LEVELS",
    "CELLS",
    "EQUAL_COUNT_10",
    "EQUAL_WIDTH_10",
    "FORM_KEYS",
    "GROUPS",
    "IN",
    "K_FOLD",
    "LEAVE_ONE_REGION_OUT",
    "OF_PREDICTIONS",
    "OUT",
    "SPLIT",
    "BinScheme",
    "Bins",
    "CalibrationWeights",
    "ClassRegions",
    "Configuration",
    "Data",
    "DerivedRegion",
    "Experiment",
    "Fault",
    "FormData",
    "FormFiles",
    "Gate",
    "Groups",
    "Intervals",
    "LayerBands",
    "Output",
    "PolygonRegions",
    "PredictionFiles",
    "Recalibration",
    "SharedData",
    "Variable",
    "VarianceRule",
    "config_error",
    "fault_of_groups",
    "fault_of_name",
    "folder_of_run",
    "json_schema",
    "key_of",
    "length",
    "load_experiment",
    "model_and_layer",
    "preferred_first",
    "quoted",
    "suggestion",
    "to_yaml",
]

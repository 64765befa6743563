"""Checks of the input, from a sample of its pixels: findings with what was found, what it may mean and what to do."""

from geouq.checks.examine import CHEAP, CHECKS, DEEP, examine, examine_model
from geouq.checks.glimpses import examine_glimpses, of_forms
from geouq.checks.sample import Finding, Known, Patch, take_sample
from geouq.reading.places import Sampling

__all__ = [
    "CHEAP",
    "CHECKS",
    "DEEP",
    "Finding",
    "Known",
    "Patch",
    "Sampling",
    "examine",
    "examine_glimpses",
    "examine_model",
    "of_forms",
    "take_sample",
]

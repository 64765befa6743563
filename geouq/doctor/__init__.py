"""Suspicions about the input, from a sample of its pixels: what was probably not meant, the evidence and the remedy."""

from geouq.doctor.examine import CHEAP, DEEP, examine
from geouq.doctor.sample import Patch, Sampling, take_sample
from geouq.doctor.suspicion import Suspicion

__all__ = ["CHEAP", "DEEP", "Patch", "Sampling", "Suspicion", "examine", "take_sample"]

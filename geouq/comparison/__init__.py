"""Runs side by side: paired differences of every number, and which run is better."""

from geouq.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]

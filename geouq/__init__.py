"""geouq: calibration of uncertainty maps."""

__version__ = "0.1.0.dev0"

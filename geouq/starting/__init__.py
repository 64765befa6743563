"""A configuration to begin with, guessed from names of files, headers and a few pixels."""

from geouq.starting.begin import Starter, starter_config

__all__ = ["Starter", "starter_config"]

"""A run from its configuration to its results; `run` shows its stages in order."""

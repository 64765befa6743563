"""Mistakes in wiring a product to a configuration, and what geouq says of each."""

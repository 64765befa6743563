"""Mistakes in the files and the configuration of a product, and the message of geouq for each."""

"""Summaries and metrics of arrays in memory: numpy, dask and xarray alike."""

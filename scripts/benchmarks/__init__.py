"""The sections of `scripts/benchmark`, and what they share: rasters, measuring, peers and tables."""

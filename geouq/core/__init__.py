"""What every other room stands on: errors, texts, atomic files, grids, validity of pixels, compiled functions."""

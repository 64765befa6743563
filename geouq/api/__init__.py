"""What `geouq run` writes, as arrays and Datasets: scores of pixels, curves and bins, intervals and tests."""

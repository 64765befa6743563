"""What `scripts/coverage_study` simulates: correlated fields, forecasts whose true numbers are known, and intervals."""

"""What `scripts/coverage_study` and `scripts/check_rates` simulate: fields, forecasts, and faults of the input."""

"""The numbers of a run, and what is judged on them."""

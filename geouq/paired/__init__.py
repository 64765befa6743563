"""Several forecasts of the same truth beside the first of them: differences of all numbers, told in words and drawn."""

from geouq.paired.rows import paired_rows, rows_of_drawn, uneven, with_verdicts
from geouq.paired.tables import Shown, as_text, shown_rows, write_texts

__all__ = ["Shown", "as_text", "paired_rows", "rows_of_drawn", "shown_rows", "uneven", "with_verdicts", "write_texts"]

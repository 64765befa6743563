"""The figures of the gallery: the title of each, what it shows, and its picture."""

from geouq.drawing import FIGURES

BEFORE_AFTER = (
    "before_after",
    "Before and after recalibration",
    "Reliability diagram and calibration curve before and after recalibration. From Python, of two forecasts.",
)


def gallery() -> str:
    """Return a part for each figure."""
    entries = [
        (record.name, record.title, f"{record.shows} `geouq figures RUN --only {record.name}`.")
        for record in FIGURES.values()
    ]
    return "\n".join(
        f"## {title}\n\n{text}\n\n![{title}](gallery/{name}.png)\n" for name, title, text in (*entries, BEFORE_AFTER)
    )

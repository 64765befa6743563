"""The figures of the gallery: the title of each, what it shows, and its picture."""

from geouq.config.figure_names import FIGURES
from geouq.drawing import DRAWERS


def gallery() -> str:
    """Return a part for each figure."""
    parts = []
    for name, about in FIGURES.items():
        source = f"`geouq figures RUN --only {name}`" if name in DRAWERS else "From Python, of two forecasts"
        picture = f"![{about.title}: {about.shows}](gallery/{name}.png)"
        parts.append(f"## {about.title}\n\n{about.shows} {source}.\n\n{picture}\n")
    return "\n".join(parts)

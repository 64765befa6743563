"""What is guessed of a layout: keys of the configuration, each with its value and the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from geouq.config.load import TODO

PATH = "path"


class Entry(NamedTuple):
    """A value of the configuration, and why it is this one."""

    value: Any
    why: str


@dataclass(frozen=True)
class Guess:
    """The keys of a configuration.

    Parameters
    ----------
    layout : str
        How the files are laid out, for people.
    tiles : tuple of str
        Names of the tiles; empty if the paths have no {tile}.
    first : str
        Name of the tile whose files were looked at.
    layers : mapping
        Layers by their keys in `data`, such as mean or quantiles.0.05; each value is a mapping with a path.
    data : mapping
        Other keys of `data`.
    variables : mapping
        Settings of the variables by name.
    why_variables : str
        Where names and bands of the variables come from.
    others : mapping
        Other keys at the top level.
    notes : tuple of str
        What the user should know besides.
    member : str
        What {member} stands for in the files that were looked at.
    files : mapping
        Files of the layers without a path, in the first tile.
    times : tuple of str
        What {time} stands for; empty if the paths have no {time}.
    """

    layout: str
    tiles: tuple[str, ...]
    first: str
    layers: Mapping[str, Entry]
    data: Mapping[str, Entry] = field(default_factory=dict)
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    why_variables: str = ""
    others: Mapping[str, Entry] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    member: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    times: tuple[str, ...] = ()

    def path(self, layer: str) -> str:
        """Return the path of a layer in the first tile; "" where it is not known."""
        return self.pattern(layer).replace("{tile}", self.first).replace("{member}", self.member)

    def pattern(self, layer: str) -> str:
        """Return the path of a layer as it is written, or its file in the first tile if a list of tiles has it."""
        found = self.layers[layer].value
        return "" if found == TODO else str(found.get(PATH, self.files.get(layer, "")))

    def known(self) -> list[str]:
        """Return the layers whose files are known."""
        return [layer for layer, entry in self.layers.items() if entry.value != TODO]

    def with_layer(self, layer: str, why: str, **settings: Any) -> Self:
        """Return the guess with more settings of a layer, and one more reason."""
        old = self.layers[layer]
        reasons = "; ".join(filter(None, (old.why, why)))
        return replace(self, layers={**self.layers, layer: Entry({**old.value, **settings}, reasons)})

    def with_other(self, key: str, value: Any, why: str) -> Self:
        """Return the guess with another key at the top level."""
        return replace(self, others={**self.others, key: Entry(value, why)})


def layer(path: str, why: str, **settings: Any) -> Entry:
    """Return the entry of a layer."""
    return Entry({PATH: path, **settings}, why)

"""The keys of the configuration, from the JSON Schema of its models."""

from collections.abc import Iterator, Mapping
from typing import Any

from generated.markdown import sentence, table
from geouq.config import Experiment, LayerFile

Schema = Mapping[str, Any]
# headings of the mappings, in the order of the page
PLACES = {
    "Data": "data",
    "FormData": "data, other forms",
    "PredictionFiles": "models",
    "LayerFile": "a layer",
    "VariableSettings": "variables",
    "TileCut": "tiles from a mosaic",
    "TilePolygons": "tiles from polygons",
    "StacTiles": "tiles from stac",
    "TileIndex": "tiles from an index",
    "PolygonRegions": "regions with polygons",
    "ClassRegions": "regions with classes",
    "DerivedRegion": "regions with of",
    "StepRegions": "regions with dimension",
    "Bins": "bins",
    "BinScheme": "schemes of bins",
    "Groups": "groups",
    "Intervals": "intervals",
    "AreaMeans": "aggregates",
    "Recalibration": "recalibration",
    "VarianceRule": "variance",
    "Output": "output",
    "Gate": "gates",
}
LONGEST = 12  # entries of a default that are shown
SAME_KEYS = {"FormData": "Data"}  # a mapping shows only those keys that the other one does not have
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`", "null": ""}
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "maxItems": "at most {} entries",
}


def configuration() -> str:
    """Return a table of the keys of each mapping: type and limits, default, meaning."""
    schema = Experiment.model_json_schema()
    definitions = {**schema["$defs"], "LayerFile": LayerFile.model_json_schema()}
    if unknown := definitions.keys() - PLACES:
        raise KeyError(f"give {', '.join(sorted(unknown))} a place in the page")
    parts = [f"### The file\n\n{_table(schema, frozenset())}"]
    for name, place in PLACES.items():
        hidden = frozenset(definitions[SAME_KEYS[name]]["properties"]) if name in SAME_KEYS else frozenset()
        about = definitions[name].get("description", "")
        parts.append(f"### {place}\n\n{about}\n\n{_table(definitions[name], hidden)}")
    return "\n".join(parts)


def _table(section: Schema, hidden: frozenset[str]) -> str:
    required = section.get("required", ())
    rows = (
        (
            f"`{key}`",
            _kind(one),
            _default(one) if key not in required else "required",
            sentence(one.get("description", "")) + _examples(key, one),
        )
        for key, one in section["properties"].items()
        if key not in hidden
    )
    return table(("key", "value", "default", "meaning"), rows)


def _default(one: Schema) -> str:
    value = one.get("default")
    if value in (None, [], "") or isinstance(value, Mapping):  # the keys of a mapping have defaults of their own
        return ""
    return f"`{_flow(value)}`"


def _examples(key: str, one: Schema) -> str:
    return "".join(f" Example: `{key}: {_flow(value)}`." for value in one.get("examples", ()))


def _flow(value: Any) -> str:
    """Return a value in the flow style of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(own)}" for key, own in value.items() if own is not None) + "}"
    if isinstance(value, list) and len(value) > LONGEST:
        return f"[{_flow(value[0])}, {_flow(value[1])}, ... {_flow(value[-1])}]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}'" if "{" in text else text


def _kind(one: Schema) -> str:
    """Return in words which values a schema accepts."""
    return " or ".join(dict.fromkeys(filter(None, _kinds(one))))


def _kinds(one: Schema) -> Iterator[str]:
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        yield f"[{PLACES[name]}](#{PLACES[name].replace(',', '').replace(' ', '-')})"
    elif "const" in one or "enum" in one:
        yield ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]))
    elif choices := one.get("anyOf") or one.get("oneOf"):
        for choice in choices:
            yield from _kinds(choice)
    elif one.get("type") == "array":
        yield f"list of {_kind(one['items'])}{_limits(one)}"
    elif one.get("type") == "object":
        own = one.get("additionalProperties")
        yield f"mapping{_keys(one)} to {_kind(own)}" if own else "mapping"
    elif isinstance(one.get("type"), list):  # YAML may read a text as a number
        yield WORDS["string"]
    else:
        yield WORDS[one["type"]] + _limits(one)


def _keys(one: Schema) -> str:
    keys = ", ".join(f"`{key}`" for key in one.get("propertyNames", {}).get("enum", ()))
    return f" of {keys}" if keys else ""


def _limits(one: Schema) -> str:
    found = [text.format(f"{one[key]:g}") for key, text in LIMITS.items() if key in one]
    return f" ({', '.join(found)})" if found else ""

"""The JSON Schema of results.json, made from the records of columns, failures and verdicts."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from geouq.core.failures import Failure
from geouq.pipeline.results import FORMAT
from geouq.tables.columns import COLUMN, TABLES, Kind
from geouq.verdict import Part, verdict_of

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
YES_NO: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": ["number", "null"]}
OF_KIND: Mapping[Kind, Schema] = {"text": TEXT, "whole": {"type": ["integer", "null"], "minimum": 0}, "number": NUMBER}
PLACE = ("level", "name", "variable", "model")
GATE: Mapping[str, Schema] = {
    "name": TEXT | {"description": "the bound in words"},
    "metric": TEXT,
    "variable": TEXT,
    "model": TEXT,
    "region": TEXT,
    "bins": TEXT,
    "areas": TEXT | {"description": "size of the areas whose means are judged; empty for pixels"},
    "share": TEXT | {"description": "threshold or class of areas above it or of it, such as `> 20`; empty for means"},
    "on": {"enum": ["estimate", "interval"], "description": "what was judged"},
    "op": {"enum": [">=", "<="]},
    "limit": {"type": "number"},
    "value": NUMBER | {"description": "the estimate, or the end of the interval that was judged"},
    "passed": YES_NO,
    "reason": TEXT | {"description": "why there was nothing to judge"},
}


def results_schema() -> Schema:
    """Return the JSON Schema (2020-12) of results.json.

    >>> schema = results_schema()
    >>> schema["properties"]["numbers"]["items"]["properties"]["value"]["type"]
    ['number', 'null']
    """
    top = {
        "format": {"const": FORMAT},
        "success": YES_NO | {"description": "all gates passed, and nothing failed"},
        "gates_passed": YES_NO,
        "gates": _list_of(_object(GATE), "an entry for each bound of a gate"),
        "failures": _list_of(_object(_failure()), "tiles and items that are missing"),
        "warnings": _list_of(TEXT, "about the input: they put the numbers in question"),
        "notes": _list_of(TEXT, "about the numbers"),
        "name": TEXT | {"description": "name of the run"},
        "config_sha256": TEXT | {"pattern": "^[0-9a-f]{64}$"},
        "versions": {"type": "object", "additionalProperties": TEXT},
        "variables": _list_of(_object({"name": TEXT, "model": TEXT, "units": TEXT}), "variables of each model"),
        "tiles": WHOLE | {"description": "number of tiles"},
        "verdicts": _list_of(_object(_verdict()), "an entry for each variable of the whole and of each region"),
        "numbers": _list_of(_object(_columns(TABLES["metrics"].columns)), "metrics.csv without tiles"),
    }
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{FORMAT}: results.json of a run"}
    return about | _object(top)


def _object(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object that has all of these properties and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(items: Schema, about: str) -> Schema:
    return {"type": "array", "items": items, "description": about}


def _columns(names: Iterable[str]) -> dict[str, Schema]:
    return {name: OF_KIND[COLUMN[name].kind] | {"description": COLUMN[name].about} for name in names}


def _failure() -> dict[str, Schema]:
    return dict.fromkeys((field.name for field in fields(Failure) if field.name != "trace"), TEXT)


def _verdict() -> dict[str, Schema]:
    part = {field.name: NUMBER if "float" in str(field.type) else TEXT for field in fields(Part)}
    of_nothing = verdict_of((), ()).as_record()
    return {
        **_columns(PLACE),
        "verdict": TEXT,
        "findings": _list_of(TEXT, "what is wrong, in the order of the verdict"),
        "effect": _object(dict.fromkeys(of_nothing["effect"], NUMBER)),
        "parts": _object(dict.fromkeys(of_nothing["parts"], _object(part))),
        "reason": TEXT | {"description": "why there is no verdict"},
    }

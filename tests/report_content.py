"""Contents of a report that need no run, and the tags and text of a page."""

from html.parser import HTMLParser

from geouq.config import Variable
from geouq.pages import ReportContent
from geouq.verdict import verdicts_of

HOSTILE = "<img src=x onerror=alert(1)>"
AREA = {
    "variable": "P95", "model": "",
    "level": "all", "name": "all", "threshold": None, "units": "Mg/ha", "mean": 200.0, "ci_low": None, "ci_high": None,
    "ci_level": None, "ci_method": "errors are correlated over too much of the map: fewer than 5 degrees of freedom",
    "std": 16.9, "std_independent": 0.08, "std_fitted": 12.0, "std_full": 64.0, "freedom": 4.8, "n": 10,
    "n_independent": 34.1, "mean_error": -11.8, "area": 1e12, "total": 1.94e10, "total_units": "Mg",
}  # fmt: skip


def row(level, name, variable, metric, value, bins=""):
    return {
        "level": level,
        "name": name,
        "variable": variable,
        "model": "",
        "compare_on": "",
        "metric": metric,
        "value": value,
        "bins": bins,
        "n": 12_345,
        "ci_low": None,
        "ci_high": None,
        "ci_level": None,
        "ci_method": "fewer than 8 cells",
    }


def p_row(name, variable, metric, p):
    return {"level": "region", "name": name, "variable": variable, "model": "", "metric": metric, "p_adjusted": p}


def content(tests=(), **changes):
    pools = [("all", "all"), ("region", HOSTILE), ("tile", "t1")]
    rows = [
        row(*pool, variable, metric, value)
        for pool in pools
        for variable in ("P95", HOSTILE)
        for metric, value in (("bias", -1.5), ("z_mean", 0.5), ("z_std", 1.5), ("zms", 2.5), ("coverage_90", None))
    ]
    rows += [row(*pool, "P95", "uce", value, bins) for pool in pools for bins, value in (("a-10", 1.0), ("b-10", 7.25))]
    given = {
        "name": HOSTILE,
        "variables": (Variable(name="P95", band=1, units="m"), Variable(name=HOSTILE, band=2)),
        "regions": {HOSTILE: ("t1", "t2")},
        "tiles": ("t1", "t2"),
        "metrics": rows,
        "bins": "b-10",
        "excluded": [{"tile": "t1", "variable": "P95", "model": "", "reason": "masked", "n": 4321}],
        "failures": [
            {
                "tile": "t3",
                "stage": "sweep",
                "error": "DataError",
                "message": f"{HOSTILE} cannot be read",
                "item": "",
                "where": "",
            }
        ],
        "warnings": [HOSTILE],
        "gates": [
            {
                "metric": "zms",
                "variable": "P95",
                "model": "",
                "region": "all",
                "areas": "",
                "share": "",
                "min": None,
                "max": 2.0,
                "value": 2.5,
                "on": "interval",
                "low": 2.25,
                "high": 2.75,
                "passed": False,
            }
        ],
        "figures": {("all", "P95", "pit"): "figures/all/100%25.png"},
        "maps": ["maps/t1_z.tif"],
        "zones": frozenset(),
        "provenance": {"geouq": "0", "date": "2026-01-31"},
    }
    given |= changes
    return ReportContent(**given, verdicts=verdicts_of(given["metrics"], tests))


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.links = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.texts.append(data)

"""How Sphinx builds the site; `scripts/docs` calls it from the folder of the repository, which holds all pages."""

import os
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "geouq"
author = "the geouq developers"
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/*/*.md", "CHANGELOG.md", "data_samples/README.md", "configs/README.md"]
extensions = ["myst_nb"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # output of commands, and configurations with omissions

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
os.environ["GEOUQ_ROOT"] = str(ROOT)  # tutorials copy the sample data from it

linkcheck_ignore = [r"https?://(localhost|server|\.\.\.)([:/]|$)"]  # addresses that stand for others
linkcheck_retries = 3
linkcheck_timeout = 30  # seconds

html_theme = "pydata_sphinx_theme"
html_title = "geouq"
html_math_renderer = "mathml"
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_static_path = ["_static"]
html_extra_path = ["_root"]  # index.html, which opens docs/index.html
html_css_files = ["site.css"]
html_show_sourcelink = False


def _mathml(formula: str, *, is_block: bool = False) -> str:
    """Return a formula as MathML; docutils does not know the commands for < and >, which Markdown needs."""
    return tex2mathml(formula.replace(r"\lt ", "< ").replace(r"\gt ", "> "), as_block=is_block)


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_mathml(node.astext(), is_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Write formulas as MathML, which browsers show without scripts from elsewhere."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))

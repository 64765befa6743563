"""The first page of a run in a browser: how long until the map is visible, and until it has other colours."""

import statistics
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.choices import Choice
from benchmarks.measure import Table, Watch
from benchmarks.programs import geouq, printed_by
from benchmarks.rasters import make_tile

CHROMIUM = Path("/usr/bin/chromium")
CELL, SIDE = 16, 4528  # pixels; 80,089 cells
COLUMNS = ("what", "median ms", "spread", "target", "others' CPUs")
STEPS = (("map visible", "<= 500"), ("other colours, the first time", ""), ("other colours, again", "<= 100"))
VISIBLE = """new MutationObserver((_, observer) => {
    if (!document.querySelector("#map[data-ready]")) return;
    window.visible = performance.now();
    observer.disconnect();
}).observe(document, {subtree: true, childList: true, attributes: true});"""
COLOURED = """metric => new Promise(done => {
    const choice = document.querySelectorAll("#map select")[1], start = performance.now();
    const shown = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    new MutationObserver((_, observer) => { observer.disconnect(); shown(); })
        .observe(document.querySelector("#map .legend"), {childList: true});
    choice.value = metric;
    choice.dispatchEvent(new Event("change"));
})"""


def pages_section(choice: Choice) -> Table:
    """Milliseconds from a click to the picture, in a new browser window each round."""
    side = choice.side(SIDE)
    note = (
        f"One variable, {(side // CELL) ** 2} cells, in Chromium at 1440 x 900, {choice.times()} times. The first "
        "change of colours loads sums that the page did not need before."
    )
    return Table("Pages: the map of cells", note, COLUMNS, tuple(_rows(choice, side)))


def _rows(choice: Choice, side: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each step, also where there is no browser."""
    if find_spec("playwright") is None or not CHROMIUM.exists():
        yield from ((what, "not installed", "", target, "") for what, target in STEPS)
        return
    watch = Watch()
    with TemporaryDirectory() as out:
        times = zip(*_times(_page_of(choice.data, side, Path(out) / "run"), choice.times()), strict=True)
        for (what, target), found in zip(STEPS, times, strict=True):
            yield _row(what, target, found, watch)


def _page_of(folder: Path, side: int, out: Path) -> Path:
    """Return the first page of a run of a tile with cells of 16 x 16 pixels."""
    name = make_tile(folder, side, "deflate")
    config = folder / f"{name}-pages.yaml"
    config.write_text(
        f"version: 1\nname: pages\ncell_size: {CELL}\nvariables: {{height: {{band: 1}}}}\ntiles: [{name}]\n"
        'data: {mean: "{tile}_mean.tif", variance: "{tile}_variance.tif", truth: "{tile}_truth.tif"}\n',
        encoding="utf-8",
    )
    printed_by(geouq("run", config, "--out", out, "--quiet"))
    return out / "report" / "index.html"


def _times(page: Path, rounds: int) -> Iterator[tuple[float, float, float]]:
    """Yield milliseconds of each step, in each round."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  other sections do not need it

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(rounds):
            window = browser.new_page(viewport={"width": 1440, "height": 900})
            window.add_init_script(VISIBLE)
            window.goto(page.resolve().as_uri())
            window.wait_for_selector("#map[data-ready]")
            changes = [window.evaluate(COLOURED, metric) for metric in ("rmse", "z_mean")]
            yield window.evaluate("visible"), *changes
            window.close()
        browser.close()


def _row(what: str, target: str, times: Sequence[float], watch: Watch) -> tuple[str, ...]:
    spread = f"{min(times):.0f} - {max(times):.0f}"
    return (what, f"{statistics.median(times):.0f}", spread, target, f"{watch.others():.2f}")

"""Pages in a real browser: they load from disk alone, can be asked with mouse and keyboard, and names stay text."""

import csv
import importlib.util
import io
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest
import rasterio
from cell_columns import columns_of
from colour_differences import ciede2000, lab, least_difference, seen_by_deuteranopes
from csv_rows import rows_of
from forecasts import heteroscedastic
from form_files import CLASSES, LEVELS, QUANTILES, TRUTH, experiment_of, options, write_forms
from landscape import NORTH_UP
from large_report import METRICS, large_content, large_curves
from PIL import Image
from rasterio.windows import Window
from report_content import AREA, HOSTILE, content, p_row, row

import geouq
from geouq.config import BinScheme
from geouq.core.gaussian import quantile
from geouq.figures.cells import EMPTY
from geouq.inference.bootstrap import basis_of_cells, rows_of_cells
from geouq.maps import scales
from geouq.metrics import MetricOptions, binned, calibration_curve, ence, uce
from geouq.pages import write_report
from geouq.pages.cells import CellSums, layout_of
from geouq.pages.marks import MARKS
from geouq.pages.numbers import thousands
from geouq.runs.store import SavedSummaries
from geouq.summary import add_all
from geouq.verdict import verdicts_of

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE = 180_000  # milliseconds, against a page that hangs
SIDE, CELL = 64, 16
FINDINGS = dict.fromkeys(("no miscalibration detected", "biased", "badly shaped"))
TILES = (HOSTILE, "a2", "b1", "b2")
REGION = "</script><script>alert(2)</script>"
SCHEME = BinScheme(scheme="equal-count", count=10)


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; the tests are skipped where it, or what drives it, is not installed."""
    if importlib.util.find_spec("playwright") is None or not CHROMIUM.exists():
        pytest.skip(f"needs the package playwright and {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of a run on four tiles of 4 x 4 cells, and truth, mean and variance of all of them by variable."""
    folder = tmp_path_factory.mktemp("run")
    fields = [np.array([np.stack(heteroscedastic((SIDE, SIDE), 10 * k + b)) for b in range(2)]) for k in range(4)]
    for k, (name, layers) in enumerate(zip(TILES, fields, strict=True)):
        where = NORTH_UP @ rasterio.Affine.translation(k % 2 * SIDE, k // 2 * SIDE)
        profile = {"count": 2, "height": SIDE, "width": SIDE, "dtype": "float32", "crs": "EPSG:32633"}
        for layer, place in enumerate(("mean", "variance", "truth")):
            with rasterio.open(folder / f"{name}_{place}.tif", "w", "GTiff", transform=where, **profile) as file:
                file.write(layers[:, layer].astype(np.float32))
                file.descriptions = ("height", "<b>cover</b>")
    text = (
        "version: 1\nname: browser\n"
        "data: {mean: '{tile}_mean.tif', variance: '{tile}_variance.tif', truth: '{tile}_truth.tif'}\n"
        f"regions: {{\"{REGION}\": ['{TILES[0]}', a2]}}\n"
        f"output: {{maps: [z], figures: [pit], directory: '{folder}/results'}}\n"
    )
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    results = geouq.run(folder / "run.yaml")
    assert not results.record.failures
    return results.folder


def context_of(browser, **options):
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


def resize(page, width, height):
    """Wait until the page has heard of its new size, which it does just before it draws anew."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


@pytest.fixture
def opened(browser, run):
    """Open a page of a report (of the run, if no folder is given) and wait for its map; errors fail the test."""
    context = context_of(browser, viewport={"width": 1280, "height": 1600})
    problems = []

    def open_page(name="index.html", folder=None, scheme="light", *, before=lambda _: None):
        page = context.new_page()
        before(page)
        page.emulate_media(color_scheme=scheme)
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("requestfailed", lambda request: problems.append(request.url))
        file, _, address = name.partition("#")
        page.goto(((folder or run / "report") / file).as_uri() + (f"#{address}" if address else ""))
        page.locator("details.part").evaluate_all("all => all.forEach(details => { details.open = true; })")
        if page.locator("#map").count():
            page.wait_for_selector("#map[data-ready]")
            page.locator("#map").evaluate("map => map.scrollIntoView()")
        return page

    yield open_page
    context.close()
    assert not problems


def pixels(run, tile, rows, columns, band=1):
    """Mean, variance and truth of the valid pixels of some cells of a tile, as they were written."""
    window = Window.from_slices(*(slice(part.start * CELL, part.stop * CELL) for part in (rows, columns)))
    found = []
    for place in ("mean", "variance", "truth"):
        with rasterio.open(run.parent / f"{tile}_{place}.tif") as file:
            found.append(file.read(band, window=window).astype(np.float64).ravel())
    counts = np.isfinite(found).all(axis=0)
    return [layer[counts] for layer in found]


def summary_of_cells(run, chosen):
    """The merged summary of cells given as (number of the tile, number of the cell), in the bins of the whole."""
    saved = SavedSummaries(run, tuple(sorted(TILES)), (0.5, 0.8, 0.9, 0.95))
    whole = add_all(tile.variables["height"].whole for tile in saved.wholes())
    basis = basis_of_cells(whole, MetricOptions(whole.levels, (SCHEME,)))
    rows = [rows_of_cells(saved.cells(tile, "height"), basis)[1] for tile in sorted(TILES)]
    summed = np.sum([rows[tile][cell] for tile, cell in chosen], axis=0)
    return basis.summary(summed[np.newaxis]), basis.edges[SCHEME.name]


def told(page, column=2):
    """The numbers of a column of the table beside the map, by their headings; to all digits."""
    lines = page.locator("#part .values tbody tr").all()
    return {line.locator("th").inner_text(): value_of(line.locator("td").nth(column - 1)) for line in lines}


def url2path(url):
    """The file of an address, without what follows a #."""
    return Path(url2pathname(urlsplit(url).path))


def value_of(cell):
    return float(cell.get_attribute("data-value") or "nan")


def diagrams(page):
    """Tables of the diagrams: reliability (bins, 3), calibration (levels, 2) and PIT (bins, 2)."""
    tables = page.locator("#part .numbers tbody").all()
    return [
        np.array([[value_of(cell) for cell in line.locator("td").all()] for line in table.locator("tr").all()])
        for table in tables
    ]


def locate(page, block):
    return page.evaluate("block => geouq.map.then(map => map.locate(block))", block)


def test_pages_load_from_disk_and_ask_for_their_own_files_alone(browser, opened, run):
    asked = []
    browser.contexts[-1].on("request", lambda request: asked.append(request.url))

    opened()
    opened(next(path.name for path in (run / "report").glob("*.html") if path.name != "index.html"))

    assert asked
    assert all(url.startswith((run.as_uri(), "data:")) for url in asked)


@pytest.mark.parametrize(
    "evil",
    [
        "<img src='data:,' onerror='parent.harmed = true'>",
        "<a href='javascript:parent.harmed = true'>x</a>",
        "<iframe srcdoc='<script>parent.harmed = true</script>'></iframe>",
        "<form action='https://example.org/'><input></form>",
    ],
)
def test_markup_that_gets_into_a_page_does_nothing(browser, run, evil):
    page = context_of(browser).new_page()
    page.goto((run / "report" / "index.html").as_uri())
    page.evaluate(
        """evil => new Promise(done => {
        document.addEventListener("securitypolicyviolation", done, {once: true});
        document.body.insertAdjacentHTML("beforeend", evil);
        document.querySelector("body > a")?.click();
        document.querySelector("body > form")?.submit();
        // a frame reports the violation to its own document, and is loaded once its script was refused
        document.querySelector("body > iframe")?.addEventListener("load", done, {once: true});
    })""",
        evil,
    )

    assert page.evaluate("typeof harmed") == "undefined"
    page.context.close()


def test_a_page_may_run_its_own_scripts_alone(browser, run):
    page = context_of(browser).new_page()
    page.goto((run / "report" / "index.html").as_uri())
    refused = page.evaluate("""() => new Promise(done => {
        document.addEventListener("securitypolicyviolation", event => done(event.blockedURI), {once: true});
        const script = document.createElement("script");
        script.src = "https://example.org/x.js";
        document.head.append(script);
    })""")

    assert refused == "https://example.org/x.js"
    page.context.close()


def test_the_map_opens_on_what_the_scorecard_shows_and_follows_its_tabs(opened):
    from playwright.sync_api import expect

    page = opened()
    legend, tab = page.locator("#map .legend"), page.locator("[name=tab]:checked")
    assert (tab.get_attribute("value"), legend.inner_text()) == ("coverage", "coverage of 90 %")
    assert page.locator("#map h2").inner_text() == "Map of cells: height, coverage of 90 %"

    page.locator("label[for=tab-spread]").click()
    expect(legend).to_have_text("std of z")
    page.locator("label[for=tab-skill]").click()
    expect(legend).to_have_text("R²")
    page.locator("#map select").nth(1).select_option("z_mean")
    expect(legend).to_have_text("mean of z")
    assert tab.get_attribute("value") == "bias"
    page.locator("#map select").nth(1).select_option("rmse")
    expect(legend).to_have_text("RMSE")
    assert tab.get_attribute("value") == "bias"  # no tab shows the RMSE


def test_the_map_shows_coverage_in_per_cent_as_the_scorecard_does(opened, run):
    page = opened()
    page.mouse.move(*locate(page, 16 + 6))
    row = page.locator("#part .values tr", has_text="coverage of 90 %")
    expect_number = row.locator("td").nth(1)
    heading = page.locator("#numbers thead th", has_text="coverage")

    steps = [step.removeprefix("≤ ") for step in page.locator("#map .steps span").all_inner_texts()]
    assert steps == ["80\u00a0%", "83.3", "86.7", "90", "93.3", "96.7", "100\u00a0%"]
    _, variance, _ = given = pixels(run, sorted(TILES)[1], slice(1, 2), slice(2, 3))
    inside = np.abs(given[0] - given[2]) <= quantile(0.95) * np.sqrt(variance)
    assert page.locator("#map .pointed-value").inner_text() == f"coverage of 90 %: {100 * inside.mean():.3g}\u00a0%"
    assert row.locator("th").inner_text() == "coverage of 90 %, in %"
    assert float(expect_number.inner_text().split()[0]) == pytest.approx(100 * value_of(expect_number), abs=0.5)
    assert heading.inner_text() == "coverage of 90 %, in %"
    cell = page.locator("#numbers tbody tr").first.locator("td, th").nth(heading.evaluate("one => one.cellIndex"))
    assert 10 < float(cell.get_attribute("data-number")) <= 100
    assert page.locator("#part .chart").nth(1).locator("text").all_text_contents()[:5] == ["0", "25", "50", "75", "100"]


@pytest.mark.parametrize(
    ("address", "tab", "legend"),
    [
        ("tab=bias", "bias", "mean of z"),
        ("metric=z_std", "spread", "std of z"),
        ("tab=bias&metric=rmse", "bias", "RMSE"),
        ("tab=skill", "skill", "R²"),
    ],
)
def test_map_and_scorecard_agree_whichever_of_them_the_address_names(opened, address, tab, legend):
    from playwright.sync_api import expect

    page = opened(f"index.html#{address}")
    again = opened()
    again.evaluate("address => { location.hash = address; }", address)

    for one in (page, again):
        expect(one.locator("#map .legend")).to_have_text(legend)
        assert one.locator("[name=tab]:checked").get_attribute("value") == tab


def test_a_tab_that_a_page_does_not_have_opens_the_first_one(opened, tmp_path):
    write_report(large_content(tiles=4, regions=2), tmp_path)
    page = opened("index.html#tab=skill", tmp_path)

    assert page.locator("[name=tab]").evaluate_all("all => all.map(one => one.value)") == ["coverage"]
    assert page.locator("[name=tab]:checked").get_attribute("value") == "coverage"
    assert page.locator(".card td .t-coverage").first.is_visible()


def test_a_click_on_a_heading_sorts_a_table_either_way(opened):
    page = opened()
    heading = page.locator("#numbers th", has_text="RMSE")

    def column():
        cells = page.locator("#numbers tbody tr td:nth-child(6)").all()
        return [float(cell.get_attribute("data-number")) for cell in cells]  # more digits than are shown

    before = column()
    heading.locator("button").click()
    rising = column()
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert rising == sorted(rising) != before
    assert column() == rising[::-1]
    assert "order=" in page.url
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert column() == before
    assert "order=" not in page.url


def test_a_long_table_returns_to_its_order_too(opened, tmp_path):
    from playwright.sync_api import expect

    write_report(large_content(tiles=130, regions=2), tmp_path)
    page = opened(next(path.name for path in tmp_path.glob("region*.html")), tmp_path)
    sheet = page.locator("#tiles .sheet")
    heading, names = sheet.locator("thead th").nth(1), sheet.locator("tbody th")
    expect(names).not_to_have_count(0)
    before = names.all_inner_texts()

    for direction in ("ascending", "descending"):
        heading.locator("button").click()
        expect(heading).to_have_attribute("aria-sort", direction)
    assert names.all_inner_texts() == before[::-1]
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert names.all_inner_texts() == before


def test_the_scorecard_sorts_either_way_and_returns_to_the_worst_first(opened, tmp_path):
    given = large_content(tiles=12, regions=12, variables=2)
    write_report(given, tmp_path)
    page = opened("index.html", tmp_path)
    heading, names = page.locator(".card thead th").nth(2), page.locator(".card tbody th")
    before = names.all_inner_texts()

    def sizes():
        cells = page.locator(".card tbody td:nth-child(3) .t-coverage")
        return cells.evaluate_all("all => all.map(one => Number(one.dataset.order))")

    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert sizes() == sorted(sizes(), reverse=True)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert sizes() == sorted(sizes())
    again = opened(page.url.rpartition("/")[2], tmp_path)
    assert again.locator(".card thead th").nth(2).get_attribute("aria-sort") == "ascending"
    assert again.locator(".card tbody th").all_inner_texts() == names.all_inner_texts()
    heading.locator("button").click()
    assert page.locator(".card thead th[aria-sort]").count() == 0
    assert names.all_inner_texts() == before
    assert "#" not in page.url


@pytest.mark.parametrize(("place", "regions"), [(".card", 10), ("#numbers .sheet", 10), ("#tiles .sheet", 1)])
def test_a_filter_that_finds_no_row_says_so_and_can_be_cleared(opened, tmp_path, place, regions):
    write_report(large_content(tiles=130, regions=regions), tmp_path)  # the table of the tiles is a long one
    name = next(path.name for path in tmp_path.glob("region*.html")) if "tiles" in place else "index.html"
    page = opened(name, tmp_path)
    table = page.locator(place)
    rows, line = table.locator("tbody tr:visible"), table.locator(".nothing")
    from playwright.sync_api import expect

    expect(rows).not_to_have_count(0)
    before = rows.count()
    assert line.inner_text().strip() == ""

    table.locator("[type=search]").fill("nowhere <b>")
    expect(rows).to_have_count(0)
    expect(line).to_have_text('No rows match "nowhere <b>". Show all rows')
    assert line.get_attribute("role") == "status"
    below = line.bounding_box()["y"] - table.locator("[type=search]").bounding_box()["y"]
    assert 0 < below < 80  # next to the filter
    line.locator("button").click()
    expect(rows).to_have_count(before)
    assert line.inner_text().strip() == ""
    assert table.locator("[type=search]").evaluate("one => one === document.activeElement")


def test_choosing_a_metric_recolours_the_map_by_its_numbers(opened, run):
    from playwright.sync_api import expect

    page = opened()
    before = page.locator("#map .cells").screenshot()

    page.locator("#map select").nth(1).select_option("rmse")

    expect(page.locator("#map .legend")).to_have_text("RMSE")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.locator("#map .cells").screenshot() != before
    painted = page.evaluate("geouq.map.then(map => [...map.numbersOfBlocks()])")
    mean, _, truth = pixels(run, sorted(TILES)[1], slice(1, 2), slice(2, 3))
    assert len(painted) == 64
    assert painted[16 + 6] == pytest.approx(np.sqrt(np.mean((mean - truth) ** 2)), rel=1e-6)


COUNTED = """{
    window.work = {};
    const counting = (owner, name) => {
        const own = owner[name];
        owner[name] = function(...given) { work[name] = (work[name] ?? 0) + 1; return own.apply(this, given); };
    };
    counting(window, "parseInt");
    for (const name of ["set", "subarray"]) counting(Object.getPrototypeOf(Uint8Array.prototype), name);
    for (const name of ["createElement", "getElementById"]) counting(Document.prototype, name);
    const pen = CanvasRenderingContext2D.prototype;
    for (const name of ["putImageData", "createImageData", "fillRect", "fill", "stroke"]) counting(pen, name);
}"""  # calls that take long if they are made for each cell


def test_recolouring_makes_no_call_for_each_cell(opened, tmp_path):
    from playwright.sync_api import expect

    write_report(large_content(tiles=300, regions=3), tmp_path)
    page = opened("index.html", tmp_path, before=lambda page: page.add_init_script(COUNTED))
    page.locator("#map select").nth(1).select_option("zms")
    expect(page.locator("#map .legend")).to_have_text("zms")
    page.evaluate("work = {}")
    page.locator("#map select").nth(1).select_option("coverage_90")
    expect(page.locator("#map .legend")).to_have_text("coverage_90")
    work = page.evaluate("work")

    assert page.evaluate("geouq.map.then(map => map.numbersOfBlocks().length)") == 4800
    assert work["putImageData"] == 1
    assert sum(work.values()) < 150


@pytest.mark.parametrize("high", [1.3, 4, 60, 300, 1e9])
def test_a_scale_of_ratios_has_round_numbers_all_along_it(opened, high):
    page = opened()
    ticks = page.evaluate("high => geouq.charts.ratioTicks(1 / high, high)", high)

    assert 3 <= len(ticks) <= 6
    assert min(ticks) < 1 < max(ticks)
    assert all(1 / high <= tick <= high and float(f"{tick:.2g}") == tick for tick in ticks)


def test_the_colour_bar_of_ratios_has_numbers_on_either_side_of_the_ideal(opened):
    from playwright.sync_api import expect

    page = opened()
    page.locator("#map select").nth(1).select_option("zms")

    steps = page.locator("#map .steps span")
    expect(steps).to_have_text([re.compile(f"{one}$") for one in ("0.25", "0.397", "0.63", "1", "1.59", "2.52", "4")])


@pytest.mark.parametrize("width", [1281, 1283, 1286, 1290])
def test_beside_cells_the_map_shows_no_line_of_missing_data(browser, tmp_path, width):
    write_report(large_content(tiles=2, regions=0), tmp_path)  # every cell has pixels
    page = context_of(browser, viewport={"width": width, "height": 1000}).new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")

    colours = page.evaluate("""() => geouq.map.then(map => {
        const canvas = document.querySelector("#map canvas"), edge = canvas.getBoundingClientRect();
        const [[x, y], [next]] = [map.locate(0), map.locate(1)], left = Math.round(x - (next - x) / 2 - edge.left);
        const row = canvas.getContext("2d").getImageData(left - 12, Math.round(y - edge.top), 12, 1).data;
        return Array.from({length: 12}, (_, k) => [...row.slice(4 * k, 4 * k + 3)].join());
    })""")

    assert len(set(colours)) == 1


def test_pointing_at_a_cell_shows_its_name_and_numbers(opened, run):
    page = opened()

    page.mouse.move(*locate(page, 16 + 6))

    tile = sorted(TILES)[1]
    assert page.locator("#map .pointed").inner_text() == f"{tile}, row 1, column 2"
    page.locator("#part .values tr", has_text="mean z²").locator("td[data-value]:not([data-value=''])").first.wait_for()
    mean, variance, truth = pixels(run, tile, slice(1, 2), slice(2, 3))
    shown = told(page, column=1)
    assert shown["mean z²"] == pytest.approx(np.mean((truth - mean) ** 2 / variance), rel=1e-6)
    assert shown["pixels"] == len(truth) < CELL * CELL


def test_a_cell_pointed_at_before_the_sums_of_its_metric_are_loaded_has_a_number_once_they_are(opened):
    from playwright.sync_api import expect

    held = []

    def hold(route):
        held.append(route)

    page = opened(before=lambda page: page.route("**/assets/data/sums_*.js", hold))
    page.locator("#map select").nth(1).select_option("rmse")

    page.mouse.move(*locate(page, 16 + 6))
    expect(page.locator("#map .pointed")).to_have_text("a2, row 1, column 2")
    assert page.locator("#map .pointed-value").inner_text() == ""

    assert held
    for route in held:
        route.continue_()
    expect(page.locator("#map .pointed-value")).to_have_text(re.compile("RMSE: [0-9.]+"))


def expect_chosen(page, pattern):
    """Wait until the map shows what is chosen; a page may not evaluate text, so that waiting for a function cannot."""
    from playwright.sync_api import expect

    expect(page.locator("#part .chosen")).to_have_text(re.compile(pattern))


def test_clicking_a_cell_shows_the_diagrams_of_its_pixels(opened, run):
    page = opened()

    page.mouse.click(*locate(page, 16 + 6))

    expect_chosen(page, "row 1, column 2")
    mean, variance, truth = pixels(run, sorted(TILES)[1], slice(1, 2), slice(2, 3))
    z = (truth - mean) / np.sqrt(variance)
    shown = told(page)
    assert shown["bias"] == pytest.approx(np.mean(mean - truth), rel=1e-6)
    assert shown["RMV"] == pytest.approx(np.sqrt(variance.mean()), rel=1e-6)
    assert shown["coverage of 90 %, in %"] == pytest.approx(np.mean(np.abs(z) <= quantile(0.95)), abs=1e-6)
    reliability, calibration, pit = diagrams(page)
    edges = [-np.inf, *(quantile(k / 20) for k in range(1, 20)), np.inf]
    np.testing.assert_allclose(pit[:, 1], 20 * np.histogram(z, edges)[0] / len(z))
    np.testing.assert_allclose(calibration[:, 1], [np.mean(z <= edge) for edge in edges[1:-1]])
    merged, own = summary_of_cells(run, [(1, 6)])
    per_bin = binned(merged, SCHEME, own)
    used = per_bin.share[0] > 0
    np.testing.assert_allclose(reliability[:, 1:].T, [per_bin.mean_variance[0][used], per_bin.mse[0][used]], rtol=1e-5)


def test_a_box_shows_the_diagrams_of_the_merged_summary_of_its_cells(opened, run):
    page = opened()
    start, end = np.array(locate(page, 0)), np.array(locate(page, 16 + 5))

    page.mouse.move(*(start - 8))
    page.mouse.down()
    page.mouse.move(*(start - 4))  # a drag begins where the button is seen to move
    page.mouse.move(*(end + 2), steps=5)
    page.mouse.up()

    expect_chosen(page, r"\d cells$")
    chosen = boxed()
    assert page.locator("#part .chosen").inner_text() == f"{len(chosen)} cells"
    merged, own = summary_of_cells(run, chosen)
    shown, (reliability, calibration, _) = told(page), diagrams(page)
    assert shown["pixels"] == merged.n[0]
    assert shown["UCE"] == pytest.approx(float(uce(merged, SCHEME, own)[0]), rel=1e-5)
    assert shown["ENCE"] == pytest.approx(float(ence(merged, SCHEME, own)[0]), rel=1e-5)
    np.testing.assert_allclose(calibration[:, 1], calibration_curve(merged)[0], rtol=1e-9)
    per_bin = binned(merged, SCHEME, own)
    np.testing.assert_allclose(reliability[:, 1:].T, [per_bin.mean_variance[0], per_bin.mse[0]], rtol=1e-5)


def boxed():
    """Cells between the first of the first tile and the sixth of the second, as (tile, cell), where tiles lie."""
    corners = {name: (index // 2 * 4, index % 2 * 4) for index, name in enumerate(TILES)}
    order = sorted(TILES)
    places = {
        (number, row * 4 + column): (corners[name][0] + row, corners[name][1] + column)
        for number, name in enumerate(order)
        for row in range(4)
        for column in range(4)
    }
    (top, left), (bottom, right) = places[0, 0], places[1, 5]
    rows, columns = sorted((top, bottom)), sorted((left, right))
    return [cell for cell, (r, c) in places.items() if rows[0] <= r <= rows[1] and columns[0] <= c <= columns[1]]


def test_the_map_can_be_asked_with_keys_alone(opened):
    page = opened()
    page.locator("#map .cells").focus()

    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect_chosen(page, ", row 1, column 1$")
    assert "row 1, column 1: coverage of 90 %" in page.locator("#map .spoken").inner_text()
    for key in ("Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    expect_chosen(page, "^4 cells$")
    page.keyboard.press("Escape")
    expect_chosen(page, "^all$")


def test_the_map_of_classes_tells_the_numbers_of_a_cell_and_draws_each_class(opened, tmp_path, write_raster):
    folder = write_forms(tmp_path, write_raster)
    text = "variables: [forest]\nregions: {one: [a1]}\noutput: {maps: none, figures: none}\n"
    geouq.run(experiment_of(folder, CLASSES, text), options(folder / "out"))
    page = opened(folder=folder / "out" / "report")
    with rasterio.open(folder / "classes/a1_p.tif") as p, rasterio.open(folder / "classes/a1.tif") as codes:
        truth = codes.read(1)[:CELL, :CELL].astype(float)
        own = geouq.classes.summarize(p.read()[:, :CELL, :CELL], np.where(truth == 0, np.nan, truth), codes=(3, 7, 9))
    captions = page.locator("#part figcaption").all_inner_texts()
    assert captions[0] == "Share of each class: predicted less observed"
    assert [text.partition(":")[0] for text in captions[1:]] == [
        f"Reliability of {k}" for k in ("open", "sparse", "dense")
    ]

    page.mouse.click(*locate(page, 0))
    expect_chosen(page, "row 0, column 0")

    shown = told(page)
    assert shown["Brier score"] == pytest.approx(float(geouq.classes.brier(own)), rel=1e-6)
    assert shown["accuracy, in %"] == pytest.approx(float(geouq.classes.accuracy(own)), rel=1e-6)
    assert shown["pixels"] == own.n
    _, probability, frequency = geouq.classes.reliability(own)
    for of_class, x, y in zip(diagrams(page)[1:], probability, frequency, strict=True):
        np.testing.assert_allclose(of_class, 100 * np.stack([x, y], axis=1)[np.isfinite(x)], rtol=1e-5)
    assert page.locator("#part .chart path[class=own]").count() == 3
    page.locator("#part [data-press=all]").click()
    expect_chosen(page, "^all$")
    assert page.locator("#part .chart path.whole").count() == 0  # the whole is what is shown


def test_the_map_of_quantiles_draws_the_quantiles_of_the_cells_in_a_box(opened, tmp_path, write_raster):
    """Shares of the truth at most each quantile, the densities between them, and the coverage."""
    folder = write_forms(tmp_path, write_raster)
    text = "regions: {one: [a1]}\noutput: {maps: none, figures: none}\n"
    geouq.run(experiment_of(folder, QUANTILES | TRUTH, text), options(folder / "out"))
    page = opened("index.html#variable=height", folder / "out" / "report")
    (left, top), (right, bottom) = locate(page, 0), locate(page, 5)  # a tile has three rows of four cells
    page.mouse.move(left - 3, top - 3)
    page.mouse.down()
    page.mouse.move(right + 3, bottom + 3, steps=4)
    page.mouse.up()
    expect_chosen(page, "4 cells")

    with rasterio.open(folder / "truth/a1.tif") as file:
        truth = file.read(1)[: 2 * CELL, : 2 * CELL]
    layers = []
    for level in LEVELS:
        with rasterio.open(folder / f"quantiles/a1_{level}.tif") as file:
            layers.append(file.read(1)[: 2 * CELL, : 2 * CELL])
    counts = np.isfinite([truth, *layers]).all(axis=0)
    shares = [np.mean(truth[counts] <= layer[counts]) for layer in layers]
    calibration, between, covered = diagrams(page)

    assert told(page)["pixels"] == counts.sum()
    np.testing.assert_allclose(calibration, 100 * np.stack([LEVELS, shares], axis=1), rtol=1e-6)
    widths, gained = np.diff([0, *LEVELS, 1]), np.diff([0, *shares, 1])
    np.testing.assert_allclose(
        between, np.stack([[100 * level for level in (*LEVELS, 1)], gained / widths], axis=1), rtol=1e-6
    )
    inside = (truth[counts] >= layers[0][counts]) & (truth[counts] <= layers[2][counts])
    np.testing.assert_allclose(covered, [[80, 100 * inside.mean()]], rtol=1e-6)
    assert page.locator("#part .chart path[class=whole]").count() == 3
    assert page.locator("#part .chart path[class=ideal]").count() == 3


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_pages_of_classes_and_quantiles_have_no_texts_on_each_other(opened, tmp_path, write_raster, width):
    folder = write_forms(tmp_path, write_raster)
    quiet = "regions: {one: [a1]}\noutput: {maps: none, figures: none}\n"
    for name, data, text in (("classes", CLASSES, "variables: [forest]\n"), ("quantiles", QUANTILES | TRUTH, "")):
        geouq.run(experiment_of(folder, data, text + quiet), options(folder / name))
        for address in ("index.html#cell=0", "one.html"):
            page = opened(address, folder / name / "report")
            resize(page, width, 900)
            assert page.locator("#part .chart svg").count() >= 3
            assert page.evaluate(OVERLAPS) == []


def test_a_region_has_the_map_of_its_own_tiles(opened, run):
    page = opened(next(path.name for path in (run / "report").glob("*.html") if path.name != "index.html"))

    assert page.locator("#part .chosen").inner_text() == REGION
    page.locator("#map select").nth(0).select_option("<b>cover</b>")
    page.locator("#map .cells[aria-busy]").wait_for(state="detached")
    layers = [pixels(run, tile, slice(0, 4), slice(0, 4), band=2) for tile in TILES[:2]]
    mean, variance, truth = np.concatenate(layers, axis=1)
    assert told(page, column=2)["mean z²"] == pytest.approx(np.mean((truth - mean) ** 2 / variance), rel=1e-6)


def test_a_region_has_the_numbers_of_the_tables_wherever_it_is_shown(opened, run):
    page = opened()
    page.locator("#map select").nth(2).select_option(REGION)
    expect_chosen(page, re.escape(REGION))
    rows = rows_of(run / "tables" / "metrics.csv")
    own = {
        row["metric"]: row for row in rows if (row["name"], row["variable"]) == (REGION, "height")
        and row["bins"] in ("", SCHEME.name)
    }  # fmt: skip

    for heading, name in (
        ("ENCE", "ence"),
        ("UCE", "uce"),
        ("std of z", "z_std"),
        ("coverage of 90 %, in %", "coverage_90"),
    ):
        assert told(page)[heading] == pytest.approx(float(own[name]["value"]), rel=1e-12)
    assert f"Bins: {SCHEME.name} of this region." in page.locator("#part .bins").inner_text()
    page.mouse.click(*locate(page, 16 + 6))
    expect_chosen(page, "row 1, column 2")
    assert "in the bins of the whole" in page.locator("#part .bins").inner_text()


def test_a_cell_of_the_scorecard_shows_its_variable_and_region(opened):
    page = opened("index.html#tab=bias&metric=rmse")
    page.locator(".card tbody tr").nth(1).locator("td a").nth(1).click()

    expect_chosen(page, re.escape(REGION))
    assert page.locator("#part .of").inner_text() == "<b>cover</b>"
    assert page.locator("#map select").nth(0).input_value() == "<b>cover</b>"
    assert page.locator("#map select").nth(1).input_value() == "rmse"  # what was chosen before stays
    assert "tab=bias" in page.url


def test_what_is_chosen_stands_in_the_address_and_comes_back_from_it(opened):
    page = opened()
    page.locator("#map select").nth(0).select_option("<b>cover</b>")
    page.locator("#map .cells[aria-busy]").wait_for(state="detached")
    page.locator("label[for=tab-bias]").click()
    page.locator("#map select").nth(1).select_option("rmse")
    page.mouse.click(*locate(page, 16 + 6))
    expect_chosen(page, "row 1, column 2")
    shown, address = told(page), page.url.rpartition("/")[2]

    again = opened(address)

    expect_chosen(again, "row 1, column 2")
    assert told(again) == pytest.approx(shown, nan_ok=True)
    assert again.locator("#map select").nth(1).input_value() == "rmse"
    assert again.locator("#tab-bias").is_checked()


OPEN_RANGES = {"coverage_90": (0.5, 0.99), "z_std": (0.5, 2.0), "z_mean": (-1.0, 1.0)}  # with the ideal, and wide
P_VALUES = {"sig": 0.001, "open": 0.5, "untested": None}


def report_of_states(folder, states, metrics=("coverage_90", "z_mean", "z_std")):
    """Write a report of a tile for each region; states : of each metric, by region."""
    given = large_content(tiles=len(states), regions=len(states))
    rows, tests = [], []
    for name, own in zip(given.regions, states, strict=True):
        for metric, state in zip(metrics, own, strict=True):
            low, high = (None, None) if state == "untested" else OPEN_RANGES[metric]
            limits = {"ci_low": low, "ci_high": high, "ci_level": 0.95}
            rows.append(row("region", name, "variable 0", metric, 0.7) | limits)
            tests += [] if state == "untested" else [p_row(name, "variable 0", metric, P_VALUES[state])]
    (sums,) = given.cells.variables
    parts = {"coverage_90": "coverage", "zms": "bias"}  # what the colours show does not matter here
    shown = [replace(one, part=parts.get(one.name, "")) for one in sums.metrics]
    cells = replace(given.cells, variables=[replace(sums, metrics=shown)])
    write_report(replace(given, metrics=rows, cells=cells, verdicts=verdicts_of(rows, tests)), folder)


def hatched_tiles(page):
    """Whether the middle of the first cell of each tile of a row of tiles has more than one colour."""
    return page.evaluate("""() => geouq.map.then(map => {
        const canvas = document.querySelector("#map canvas"), pen = canvas.getContext("2d");
        const edge = canvas.getBoundingClientRect(), count = map.numbersOfBlocks().length / 16;
        return Array.from({length: count}, (_, tile) => {
            const [x, y] = map.locate(16 * tile + 5), colours = new Set();
            const {data} = pen.getImageData(x - edge.left - 5, y - edge.top - 5, 10, 10);
            for (let k = 0; k < data.length; k += 4) colours.add(data.slice(k, k + 3).join());
            return colours.size > 1;
        });
    })""")


def test_the_map_is_hatched_where_its_metric_is_open_or_untested_as_the_scorecard_is(opened, tmp_path):
    from playwright.sync_api import expect

    report_of_states(tmp_path, [("sig", "open", "sig"), ("open", "sig", "sig"), ("untested", "untested", "untested")])
    page = opened("index.html", tmp_path)
    card = page.locator(".card tbody tr:not(:first-child)")

    def on_the_card(tab):
        found = {}
        for line in card.all():
            classes = line.locator(f"td .t-{tab}").get_attribute("class").split()
            found[line.locator("th").inner_text()] = bool({"open", "untested"} & set(classes))
        return [found[name] for name in sorted(found)]

    note = page.locator("#map .hatching")
    assert hatched_tiles(page) == on_the_card("coverage") == [False, True, True]
    assert note.inner_text().startswith("Hatched where the coverage_90 of the region is not conclusive or cannot")
    page.locator("label[for=tab-bias]").click()
    expect(note).to_contain_text("zms")
    assert hatched_tiles(page) == on_the_card("bias") == [True, False, True]
    page.locator("#map select").nth(1).select_option("uce")
    expect(note).to_have_text(
        "Nothing is hatched: hatching belongs to the tested numbers of the scorecard, and uce is none of them."
    )
    assert hatched_tiles(page) == [False, False, False]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ((0, 1, 2), "zms of the region is not"),
        ((0, 1), "zms of the region, or of the whole outside of regions, is not"),
        ((), "zms of the whole is not"),
    ],
)
def test_the_map_names_the_part_whose_tests_it_is_hatched_by(opened, tmp_path, own, words):
    given = large_content(tiles=3, regions=1)
    (sums,) = given.cells.variables
    cells = replace(given.cells, variables=[replace(sums, metrics=[replace(sums.metrics[0], part="bias")])])
    rows = [row("all", "all", "variable 0", "z_mean", 0.1)]
    regions = {"r": [given.tiles[k] for k in own]} if own else {}
    changes = {"regions": regions, "cells": cells, "metrics": rows, "verdicts": verdicts_of(rows, [])}
    write_report(replace(given, **changes), tmp_path)

    assert f"Hatched where the {words}" in opened("index.html", tmp_path).locator("#map .hatching").inner_text()


def test_a_region_has_a_thick_outline_where_the_metric_of_the_map_is_significant(browser, tmp_path):
    report_of_states(tmp_path, [("sig", "open", "open"), ("open", "sig", "open")])
    page = context_of(browser).new_page()
    page.add_init_script("""{
        const pen = CanvasRenderingContext2D.prototype, {moveTo, stroke, clearRect} = pen;
        let from = null;
        window.outlines = [];
        pen.clearRect = function(...box) { outlines = []; clearRect.apply(this, box); };
        pen.moveTo = function(...point) { from = point; moveTo.apply(this, point); };
        pen.stroke = function() { outlines.push([this.lineWidth, from[0]]); stroke.apply(this); };
    }""")
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    drawn = page.evaluate("outlines.filter(([width]) => width === 1 || width === 3)")[:2]
    widths = {x: width for width, x in drawn}
    page.context.close()

    assert [widths[x] for x in sorted(widths)] == [3, 1]


def test_the_page_of_a_region_is_hatched_by_its_own_tests(opened, tmp_path):
    report_of_states(tmp_path, [("sig", "open", "open"), ("open", "sig", "open")])
    pages = sorted(path.name for path in tmp_path.glob("region*.html"))

    assert [hatched_tiles_of(opened(name, tmp_path)) for name in pages] == [False, True]


def hatched_tiles_of(page):
    """Whether the only tile of a map is hatched."""
    tile = page.evaluate("geouq.map.then(map => map.numbersOfBlocks().findIndex(Number.isFinite))") // 16
    return hatched_tiles(page)[tile]


def test_the_spread_of_cells_and_of_the_whole_are_explained_with_their_numbers(opened, run):
    from playwright.sync_api import expect

    page = opened()
    note = page.locator("#map .within")
    assert not note.is_visible()
    page.locator("label[for=tab-spread]").click()
    expect(note).to_have_text(re.compile("^A cell shows the scatter about its own mean"))
    within, between, total = map(float, re.findall(r"\d+\.?\d*", note.inner_text()))

    cells = [pixels(run, tile, slice(i, i + 1), slice(j, j + 1)) for tile in TILES for i in range(4) for j in range(4)]
    z = [(truth - mean) / np.sqrt(variance) for mean, variance, truth in cells]
    every = np.concatenate(z)
    assert total == pytest.approx(every.std(), rel=6e-3)
    assert within**2 == pytest.approx(sum(len(own) * own.var() for own in z) / len(every), rel=2e-2)
    assert between**2 == pytest.approx(total**2 - within**2, abs=0.03)
    assert total == pytest.approx(told(page, column=3)["std of z"], rel=6e-3)
    page.locator("label[for=tab-bias]").click()
    expect(note).to_be_hidden()


def test_scatter_within_cells_and_between_their_means_add_to_that_of_all_pixels(opened):
    z = [np.array(own) for own in ([1.0, 2.0, 6.0], [5.0, 5.0], [0.0])]
    columns = {
        "weight": [len(own) for own in z] + [0],
        "z": [own.sum() for own in z] + [0.0],
        "z_square": [(own**2).sum() for own in z] + [0.0],
    }
    found = opened().evaluate("sums => geouq.cells.scatter(sums, [0, 1, 2, 3])", columns)

    within = np.sqrt(np.mean(np.concatenate([(own - own.mean()) ** 2 for own in z])))
    between = np.std(np.concatenate([np.full(len(own), own.mean()) for own in z]))
    expected = {"within": within, "between": between, "total": np.concatenate(z).std()}
    assert found == pytest.approx(expected)


def test_r2_of_cells_follows_from_their_sums_together(opened):
    rng = np.random.default_rng(0)
    truth = [280 + rng.normal(k, 1, 9) for k in range(3)] + [np.full(4, 281.3)]
    error, centre = [rng.normal(0, 0.5, len(own)) for own in truth], np.concatenate(truth).mean()
    sums = {
        "weight": [len(own) for own in truth],
        "deviation": [np.sum(np.float32(own - centre)) for own in truth],
        "squared_deviation": [np.sum(np.float32((own - centre) ** 2)) for own in truth],
        "squared_error": [np.sum(own**2) for own in error],
    }
    found = opened().evaluate(
        """sums => {
            const arrays = {};
            for (const [name, own] of Object.entries(sums)) arrays[name] = Float64Array.from(own);
            const r2 = geouq.cells.metrics({metrics: [{id: "r2", of: "r2"}], rows: {}}, {})[0].at;
            return [r2(arrays, 1), r2(geouq.cells.total(arrays, [0, 2])), r2(arrays, 3)];
        }""",
        {name: [float(value) for value in own] for name, own in sums.items()},
    )

    def expected(*parts):
        own, off = (np.concatenate([some[k] for k in parts]) for some in (truth, error))
        return 1 - np.mean(off**2) / np.var(own)

    assert found[:2] == pytest.approx([expected(1), expected(0, 2)], rel=1e-5)
    assert found[2] is None or np.isnan(found[2])  # a truth that does not vary


def test_the_first_view_loads_at_most_300_kilobytes(browser, opened):
    asked = []
    browser.contexts[-1].on("request", lambda request: asked.append(request.url))
    opened()

    paths = {url2path(url) for url in asked if url.startswith("file:")}
    assert sum(path.stat().st_size for path in paths) < 300_000


def test_scripts_and_styles_of_a_page_have_neither_comments_nor_indentation(run):
    texts = [(run / "report/assets" / name).read_text("utf-8") for name in ("report.js", "report.css")]

    for text in texts:
        assert all(line and line == line.strip() for line in text.splitlines())
        assert not re.search(r"^(//|/\*.*\*/$)", text, re.MULTILINE)
    assert "source-atop" in texts[0]  # code before a comment in its line stays


def loaded_at_first(browser, folder):
    """Paths of the files that the first page of a report loads until its map is visible."""
    asked, page = [], context_of(browser).new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    page.context.close()
    return {url2path(url) for url in asked if url.startswith("file:")}


@pytest.mark.parametrize(("regions", "variables"), [(3, 5), (12, 5), (6, 8), (30, 3)])
def test_runs_of_medium_size_load_at_most_300_kilobytes_too(browser, tmp_path, regions, variables):
    given = large_content(tiles=60, regions=regions, variables=variables)
    write_report(replace(given, curves=large_curves(given.variables, given.regions)), tmp_path)

    assert sum(path.stat().st_size for path in loaded_at_first(browser, tmp_path)) < 300_000


def test_300_regions_and_40_variables_load_at_most_250_kilobytes_and_all_rows_when_they_are_wanted(
    browser, opened, tmp_path
):
    from playwright.sync_api import expect

    given = large_content(tiles=300, regions=300, variables=40)
    worst_first = list(given.regions)[::-1]  # the last regions have the largest numbers
    curves = large_curves(given.variables, worst_first[:3])
    write_report(replace(given, curves=curves), tmp_path)
    paths = loaded_at_first(browser, tmp_path)
    assert not any(path.name.startswith(("card", "sums", "bins")) for path in paths)
    assert sum(path.stat().st_size for path in paths) < 250_000

    page = opened("index.html", tmp_path)
    card = page.locator(".card")
    assert card.locator("tbody tr").count() == 6
    card.locator("tbody td a").nth(41).hover()
    expect(page.locator(".tip")).to_have_text(re.compile("90 % intervals cover"))
    card.locator("[type=search]").fill("region 287")
    expect(card.locator("tbody tr")).to_have_count(1)
    assert card.locator("tbody td").count() == 40
    card.locator("[type=search]").fill("")
    card.locator(".more button").click()
    expect(card.locator("tbody tr")).to_have_count(46)
    card.locator("thead button").nth(3).click()
    expect(card.locator("thead th[aria-sort]")).to_have_text("variable 3")
    orders = card.locator("tbody td:nth-child(5) .t-coverage").evaluate_all(
        "all => all.map(one => Number(one.dataset.order))"
    )
    assert len(orders) == 46
    assert orders == sorted(orders, reverse=True)
    card.locator("tbody td a").nth(2).click()
    expect_chosen(page, re.escape(card.locator("tbody th").first.inner_text()))
    assert page.locator("#part .of").inner_text() == "variable 2"


def test_what_other_metrics_need_is_loaded_when_a_reader_comes_to_the_map(browser, run):
    page = context_of(browser, viewport={"width": 1280, "height": 900}).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto((run / "report/index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    assert {"cells_0_0.js", "diagrams_0_0.js"} <= set(asked)
    assert not {"sums_0_0.js", "bins_0_0.js"} & set(asked)

    with page.expect_request("**/sums_0_0.js"):
        page.locator("#card .tabs label").last.hover()
    page.locator("#map select").nth(1).select_option("uce")
    page.locator("#map .legend", has_text="UCE").wait_for()

    assert asked.count("sums_0_0.js") == asked.count("bins_0_0.js") == 1
    page.context.close()


def test_the_variable_that_is_chosen_last_is_shown(opened):
    from playwright.sync_api import expect

    page = opened()
    page.locator("#map select").first.evaluate(
        """select => {
            for (const k of [1, 0, 1]) { select.selectedIndex = k; select.dispatchEvent(new Event("change")); }
        }"""
    )

    expect(page.locator("#part .of")).to_have_text("<b>cover</b>")
    expect(page.locator("#map .mapped")).to_have_text(": <b>cover</b>, ")
    expect(page.locator("#map .cells")).not_to_have_attribute("aria-busy", "true")


def test_without_javascript_the_first_rows_of_a_large_scorecard_remain(browser, tmp_path):
    write_report(large_content(tiles=12, regions=300, variables=40), tmp_path)
    context = context_of(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())

    assert page.locator(".card tbody tr").count() == 6
    assert page.locator(".card tbody th a").count() == 5
    assert page.locator(".card .more output").inner_text() == "5 of 300 regions, the worst first"
    context.close()


def test_pictures_of_maps_are_loaded_when_their_section_is_opened(browser, run):
    page = context_of(browser).new_page()
    page.goto((run / "report/index.html").as_uri())
    assert page.locator("#looks image").count() == 2
    assert page.locator("#looks image[href]").count() == 0

    with page.expect_request("**/quick_looks.png"):
        page.locator("#looks > summary").click()

    assert page.locator("#looks image[href]").count() == 2
    page.context.close()


def test_without_javascript_the_text_the_scorecard_and_the_small_multiples_remain(browser, run):
    context = context_of(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto((run / "report" / "index.html").as_uri())

    assert page.locator("#verdict .sentence").inner_text()
    # reliability, calibration, PIT, coverage by truth and std of two variables in the whole and a region
    assert page.locator("#multiples svg").count() == 20
    assert page.locator("#multiples svg:visible").count() == 4
    for name, in_view in (("calibration", "Calibration, height, all"), ("std", "Predicted std, height, all")):
        page.locator(f"label[for=diagram-{name}]").click()
        assert page.locator("#multiples svg:visible").count() == 4
        assert page.get_by_role("img", name=in_view).is_visible()
    assert page.locator(".card .t-coverage").first.is_visible()
    page.locator("label[for=tab-spread]").click()
    assert page.locator(".card .t-spread").first.is_visible()
    assert not page.locator(".card .t-coverage").first.is_visible()
    context.close()


def test_the_scorecard_of_many_regions_finds_one_and_sorts_by_a_variable(opened, tmp_path):
    write_report(large_content(tiles=12, regions=300, variables=2), tmp_path)
    page = opened("index.html", tmp_path)
    rows = page.locator(".card tbody tr")
    assert rows.count() == 120

    page.locator(".card [type=search]").fill("region 287")
    from playwright.sync_api import expect

    expect(rows).to_have_count(1)
    assert rows.first.locator("th").inner_text().startswith("region 287")
    page.locator(".card [type=search]").fill("")
    page.locator(".card .more button").click()
    expect(rows).to_have_count(160)


def test_the_type_of_small_diagrams_stands_in_the_address_and_comes_back_from_it(opened):
    page = opened()
    page.locator("label[for=diagram-pit]").click()
    assert page.get_by_role("img", name="PIT, height, all").is_visible()
    assert not page.get_by_role("img", name="Reliability, height, all").is_visible()

    again = opened(page.url.rpartition("/")[2])

    assert again.locator("#diagram-pit").is_checked()


def test_what_diagrams_of_regions_share_is_drawn_as_in_the_first_row(opened):
    page = opened()
    fills = page.locator("#multiples .kind:first-of-type svg").evaluate_all(
        """all => all.map(svg => {
            const used = svg.querySelector("use") ?? svg.querySelector("g"), box = used.getBBox();
            return [box.width, box.height].map(Math.round).join();
        })"""
    )
    colours = []
    for svg in page.locator(".multiples").first.locator("svg").all():
        picture = Image.open(io.BytesIO(svg.screenshot())).convert("RGB")
        colours.append(picture.getpixel((picture.width // 2, 8)))  # inside the axes, above the lines

    assert len(set(fills)) <= 2  # of two variables
    assert all(min(colour) > 150 for colour in colours)  # no fill hides them


def printed_pages(page):
    """Number of sheets of A4 that a page takes."""
    return len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4", print_background=True)))


def test_a_report_of_small_size_prints_on_at_most_four_pages(opened):
    page = opened()
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = false; })")
    folded = printed_pages(page)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")

    assert 1 <= folded <= 4
    assert 1 <= printed_pages(page) <= 4


def shift_row(metric, variable):
    """A row of the table `shift`."""
    return {
        "variable": variable, "model": "", "metric": metric, "bins": "", "in": 1.25, "out": 2.5, "difference": 1.25,
        "ci_low": 1.0, "ci_high": 1.5, "ci_method": "bca", "significant": "yes", "verdict": "worse out of distribution",
    }  # fmt: skip


def report_of_many_tables(folder, regions, variables):
    """Write a report with many regions, variables, differences and reasons; return its content."""
    given = large_content(tiles=24, regions=regions, variables=variables)
    shift = [shift_row(metric, one.name) for one in given.variables for metric in METRICS]
    reasons = ("masked", "mean_nodata", "truth_nodata")
    excluded = [row | {"reason": reason} for row in given.excluded for reason in reasons]
    facts = {f"package {k}": f"{k}.26.{k}" for k in range(14)} | given.provenance
    curves = large_curves(given.variables, given.regions)
    made = replace(given, shift=shift, excluded=excluded, provenance=facts, curves=curves, inputs=facts)
    write_report(made, folder)
    return made


@pytest.mark.parametrize(("regions", "variables"), [(3, 5), (12, 5), (6, 8)])
def test_reports_of_medium_size_print_on_at_most_four_pages_with_all_sections_open(
    opened, tmp_path, regions, variables
):
    report_of_many_tables(tmp_path, regions, variables)
    for path in sorted(tmp_path.glob("*.html"))[:2]:
        page = opened(path.name, tmp_path)
        page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
        for table in page.locator("#worst table").all():
            table.scroll_into_view_if_needed()
            page.wait_for_selector("#worst table[data-ready]")

        assert 1 <= printed_pages(page) <= 4


def test_the_reasons_of_many_excluded_pixels_are_loaded(opened, tmp_path):
    from playwright.sync_api import expect

    report_of_many_tables(tmp_path, regions=1, variables=21)
    page = opened("index.html", tmp_path)

    expect(page.locator(".sheet[data-name=reasons] tbody tr")).to_have_count(63)


def test_a_report_of_300_regions_prints_on_at_most_four_pages_with_all_sections_open(opened, tmp_path):
    """With means of areas, differences of models, gates that fail, failures and warnings."""
    given = report_of_many_tables(tmp_path, regions=300, variables=5)
    areas = [
        AREA | {"variable": one.name, "level": level, "name": name}
        for one in given.variables
        for level, name in [("all", "all"), *(("region", region) for region in given.regions)]
    ]
    compared = [
        one | {"model": "b", "against": "a", "difference": 0.25, "better": "b", "significant": "yes"}
        for one in given.metrics_without_tiles
    ]
    gate = {
        "metric": "zms",
        "variable": "variable 0",
        "model": "",
        "areas": "",
        "share": "",
        "min": None,
        "max": 1.0,
        "value": 1.5,
    }
    gates = [gate | {"region": region, "on": "estimate", "passed": False} for region in given.regions]
    failures = [
        {"tile": f"t{k}", "stage": "sweep", "error": "E", "message": "m", "item": "", "where": ""} for k in range(80)
    ]
    more = {"areas": areas, "comparison": compared, "gates": gates, "failures": failures}
    write_report(replace(given, **more, input_warnings=sentences(12, "warning")), tmp_path)
    page = opened("index.html", tmp_path)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    for name in ("regions", "areas", "models", "gates", "failures"):  # also those that nobody looks at
        page.locator(f".sheet[data-name={name}] tbody tr").first.wait_for()

    assert 2 <= printed_pages(page) <= 4


def test_paper_without_javascript_has_the_first_rows_of_each_table_and_says_so(browser, tmp_path):
    write_report(large_content(tiles=12, regions=30), tmp_path)
    context = context_of(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.emulate_media(media="print")

    assert page.locator(".card tbody tr:visible").count() == 20
    assert page.locator("#card .paper").inner_text() == "20 of 31 rows are printed; all numbers: tables/metrics.csv"
    assert page.locator("#card .paper").is_visible()
    page.emulate_media(media="screen")
    assert page.locator(".card tbody tr:visible").count() == 31
    assert not page.locator("#card .paper").is_visible()
    context.close()


def test_paper_has_the_first_rows_of_a_long_table_and_names_the_file_of_all(opened, tmp_path):
    from playwright.sync_api import expect

    made = report_of_many_tables(tmp_path, regions=20, variables=2)
    page = opened("index.html", tmp_path)
    expect(page.locator("#numbers tbody tr")).to_have_count(21)
    page.locator("#shift .sheet [type=search]").fill("coverage")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    printed = page.locator(".paper:not(.screen .paper)")
    sentences = {one.evaluate("one => one.closest('[id]').id"): one.inner_text() for one in printed.all()}
    assert sentences["numbers"] == "10 of 42 rows are printed; all numbers: tables/metrics.csv"
    assert sentences["shift"] == f"2 of {len(made.shift)} rows are printed; all numbers: tables/shift.csv"
    assert sentences["card"] == "20 of 21 rows are printed; all numbers: tables/metrics.csv"
    assert sentences["problems"] == ""
    assert page.locator("#numbers tbody tr:visible").count() == 10
    assert page.locator("#shift tbody tr:visible").count() == 2


def test_paper_has_the_first_columns_of_a_wide_table_and_says_so(opened, tmp_path):
    write_report(large_content(tiles=4, regions=2, variables=20), tmp_path)
    page = opened("index.html", tmp_path)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    sentence = page.locator("#card .paper").inner_text()
    assert sentence == "15 of 21 columns are printed; all numbers: tables/metrics.csv"
    assert page.locator("#card thead th:visible").count() == 15
    assert page.locator("#card tbody tr").first.locator("td:visible").count() == 14


def sentences(count, what):
    """Texts as long as those of a run."""
    text = "the std of 12 tiles is the same in all pixels, 0.25 m; a std in the file may have been a variance before"
    return [f"{what} {number} of height: {text}." for number in range(count)]


def test_paper_has_the_first_warnings_and_notes_and_names_the_file_of_all(opened, tmp_path):
    given = large_content(tiles=24, regions=3, variables=5)
    long = {"input_warnings": sentences(150, "warning"), "warnings": sentences(9, "note")}
    write_report(replace(given, curves=large_curves(given.variables, given.regions), **long), tmp_path)
    for name in ("index.html", next(path.name for path in tmp_path.glob("region*.html"))):
        page = opened(name, tmp_path)
        page.locator("#warnings details").evaluate("one => { one.open = true; }")
        assert page.locator("#warnings li:visible").count() == 150
        assert 1 <= printed_pages(page) <= 4

        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator("#warnings li:visible").count() == 8
        sentence = page.locator("#warnings .paper")
        assert sentence.inner_text() == "8 of 150 warnings are printed; all warnings: results.json"
        if name == "index.html":
            assert page.locator("#problems li:visible").count() == 8
            assert page.get_by_text("8 of 9 notes are printed; all notes: results.json").is_visible()


def test_paper_has_all_warnings_where_they_are_few(opened, tmp_path):
    write_report(replace(large_content(tiles=4, regions=2), input_warnings=sentences(8, "warning")), tmp_path)
    page = opened("index.html", tmp_path)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    assert page.locator("#warnings li:visible").count() == 8
    assert page.locator("#warnings .paper").inner_text() == ""


def test_headings_of_tables_can_stand_on_every_sheet_of_paper(opened):
    page = opened()
    page.emulate_media(media="print")
    heading = page.locator("#numbers thead")

    assert heading.evaluate("one => getComputedStyle(one).display") == "table-header-group"
    # a button is a block of its own in this browser, and headings that hold blocks are not repeated
    assert heading.locator("button").first.evaluate("one => getComputedStyle(one).display") == "contents"


def test_paper_has_open_sections_but_no_files_maps_of_pixels_and_configuration(opened):
    page = opened()
    page.emulate_media(media="print")
    for name in ("#numbers", "#problems", "#made", "label[for=diagram-reliability]"):
        assert page.locator(name).is_visible()
    for name in ("#files", "#looks", "#made pre", "#problems details", "label[for=diagram-pit]"):
        assert not page.locator(name).first.is_visible()
    page.locator("#numbers").evaluate("one => { one.open = false; }")
    assert not page.locator("#numbers").is_visible()


def test_on_a_phone_the_worst_region_comes_before_the_variables(opened, tmp_path):
    verdicts = [p_row(HOSTILE, "P95", "z_std", 0.001)]
    limits = {"z_std": (1.3, 1.9)}
    rows = [
        one | {"value": 1.6, "ci_low": 1.3, "ci_high": 1.9, "ci_level": 0.95}
        if (one["name"], one["variable"]) == (HOSTILE, "P95") and one["metric"] in limits
        else one
        for one in content().metrics
    ]
    write_report(content(metrics=rows, tests=verdicts, figures={}), tmp_path)
    page = opened("index.html", tmp_path)
    worst, variables = page.locator("#verdict .worst"), page.locator("#verdict .folds")
    assert worst.bounding_box()["y"] > variables.bounding_box()["y"]

    resize(page, 390, 800)

    assert page.locator("#verdict .sentence").bounding_box()["y"] < worst.bounding_box()["y"]
    assert worst.bounding_box()["y"] < variables.bounding_box()["y"]


@pytest.mark.parametrize(("width", "height", "share"), [(390, 844, 0.45), (1024, 768, 0.9), (1440, 900, 0.9)])
def test_the_first_screen_has_the_answer_the_scorecard_and_the_map(browser, run, tmp_path, width, height, share):
    """Also of many regions and variables, with long names."""
    given = large_content(tiles=60, regions=30, variables=40)
    write_report(given, tmp_path)
    context = context_of(browser, viewport={"width": width, "height": height})
    for folder in (run / "report", tmp_path):
        page = context.new_page()
        page.goto((folder / "index.html").as_uri())
        page.wait_for_selector("#map[data-ready]")
        for shown in ("#verdict .sentence", ".card tbody td", "#map .bar"):
            box = page.locator(shown).first.bounding_box()
            assert box["y"] + box["height"] <= height
        cells = page.locator("#map .cells").bounding_box()
        assert height - cells["y"] >= share * cells["height"]
    context.close()


def test_where_the_map_is_below_the_scorecard_a_link_leads_to_it(opened):
    page = opened("index.html#metric=rmse")
    jump = page.locator(".jump")
    assert not jump.is_visible()

    resize(page, 768, 844)
    jump.focus()
    page.keyboard.press("Enter")
    assert 0 <= page.locator("#map h2").bounding_box()["y"] < 40
    assert page.locator("#map .cells").evaluate("one => one === document.activeElement")
    assert page.url.endswith("#metric=rmse")


@pytest.mark.parametrize(("variables", "is_open"), [(3, True), (4, False)])
def test_a_phone_shows_the_lines_of_few_variables_where_no_region_is_the_worst(opened, tmp_path, variables, is_open):
    given = large_content(tiles=4, regions=1, variables=variables)
    names = [one.name for one in given.variables]
    rows = [row("all", "all", name, metric, 0.5) for name in names for metric in ("z_mean", "z_std", "coverage_90")]
    write_report(replace(given, regions={}, metrics=rows, verdicts=verdicts_of(rows, [])), tmp_path)
    page = opened("index.html", tmp_path)
    from playwright.sync_api import expect

    lines, summary = page.locator("#verdict li"), page.locator("#verdict summary").first
    expect(lines.first).to_be_visible()
    assert not summary.is_visible()
    resize(page, 390, 844)
    page.evaluate("scrollTo(0, 0)")
    expect(lines.first).to_be_visible(visible=is_open)
    assert lines.count() == variables
    assert summary.is_visible() is not is_open
    box = page.locator(".card tbody tr").first.bounding_box()
    assert box["y"] + box["height"] <= 844
    if not is_open:
        summary.click()
        assert lines.first.is_visible()
        resize(page, 1280, 844)
        expect(lines.first).to_be_visible()


def test_on_a_phone_what_explains_the_scorecard_is_one_touch_away_and_its_choices_have_names(opened):
    page = opened()
    words = page.locator(".card .about p:visible")
    assert words.count() == 2
    resize(page, 390, 844)
    assert words.count() == 0
    page.get_by_text("How to read the scorecard").click()
    assert words.count() == 2
    for name in ("variable", "colour", "part"):
        assert page.get_by_role("combobox", name=name, exact=True).is_visible()


def test_without_javascript_a_phone_shows_all_lines_of_the_answer(browser, run):
    context = context_of(browser, java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((run / "report/index.html").as_uri())

    assert page.locator("#verdict li").first.is_visible()
    context.close()


@pytest.mark.parametrize("apart", [0, 40])
def test_a_map_has_coordinates_also_where_strips_are_cut_out(browser, tmp_path, apart):
    given = large_content(tiles=4, regions=2)
    variables = given.cells.variables
    places = [
        replace(one.place, grid=replace(one.place.grid, transform=one.place.grid.transform @ shifted(k // 2 * apart)))
        for k, one in enumerate(given.cells.layout.tiles)
    ]
    layout = layout_of(places, 1)
    assert bool(layout.where) == bool(apart)
    write_report(replace(given, cells=replace(given.cells, layout=layout, variables=variables)), tmp_path)
    texts, dashes = drawn_on_the_map(browser, tmp_path)

    across = {float(text): x for text, x, y in texts if re.fullmatch(r"[0-9.]+", text) and float(text) < 1e6}
    assert len(across) >= 2
    if not apart:
        assert dashes == []
        return
    edges = [place.grid.transform.c for place in places]
    assert set(across) <= set(edges)
    assert {edges[0], edges[2]} <= set(across)
    ((x0, y0, x1, y1),) = dashes  # one strip is cut out, between the second and the third tile
    assert across[edges[0]] < x0 == x1 < across[edges[2]]
    assert y0 < y1


def drawn_on_the_map(browser, folder, name="index.html"):
    """Texts (text, x, y) and dashed lines (x0, y0, x1, y1) that the map of a report was last drawn with."""
    page = context_of(browser).new_page()
    page.add_init_script("""{
        const pen = CanvasRenderingContext2D.prototype, {fillText, clearRect, lineTo, moveTo} = pen;
        let from = null;
        window.drawn = {texts: [], dashes: []};
        pen.clearRect = function(...box) { drawn.texts = []; drawn.dashes = []; clearRect.apply(this, box); };
        pen.fillText = function(...given) { drawn.texts.push(given); fillText.apply(this, given); };
        pen.moveTo = function(...point) { from = point; moveTo.apply(this, point); };
        pen.lineTo = function(...point) {
            if (this.getLineDash().length) drawn.dashes.push([...from, ...point]);
            lineTo.apply(this, point);
        };
    }""")
    page.goto((folder / name).as_uri())
    page.wait_for_selector("#map[data-ready]")
    drawn = page.evaluate("drawn")
    page.context.close()
    return drawn["texts"], drawn["dashes"]


def test_coordinates_of_a_flat_map_do_not_lie_on_each_other(browser, tmp_path):
    write_report(large_content(tiles=40, regions=1), tmp_path)
    texts, _ = drawn_on_the_map(browser, tmp_path)

    left = sorted(y for _, x, y in texts if x == 4)
    assert left
    assert (np.diff(left) >= 16).all()


@pytest.mark.parametrize(("own", "count"), [((0, 1, 2), 1), ((0, 1, 3), 2), ((0, 2, 4), 3)])
def test_each_separate_part_of_a_region_has_its_name(browser, tmp_path, own, count):
    given = large_content(tiles=5, regions=1)
    write_report(replace(given, regions={"ab": [given.tiles[k] for k in own]}), tmp_path)
    texts, _ = drawn_on_the_map(browser, tmp_path)

    places = [(x, y) for text, x, y in texts if text == "ab"]
    assert len(places) == len(set(places)) == count


def test_tiles_have_their_names_where_no_region_has_one_and_where_they_fit(browser, tmp_path):
    given = replace(large_content(tiles=5, regions=1), regions={})
    write_report(given, tmp_path)
    texts, _ = drawn_on_the_map(browser, tmp_path)
    assert {text for text, *_ in texts} >= set(given.tiles)

    narrow = large_content(tiles=100, regions=1)
    write_report(replace(narrow, regions={}), tmp_path)
    texts, _ = drawn_on_the_map(browser, tmp_path)
    assert not {text for text, *_ in texts} & set(narrow.tiles)

    write_report(large_content(tiles=5, regions=1), tmp_path)
    (name,) = large_content(tiles=5, regions=1).regions
    texts, _ = drawn_on_the_map(browser, tmp_path)
    assert not {text for text, *_ in texts} & set(given.tiles)
    texts, _ = drawn_on_the_map(browser, tmp_path, next(path.name for path in tmp_path.glob("region*.html")))
    assert {text for text, *_ in texts} >= set(given.tiles)
    assert name not in {text for text, *_ in texts}  # the title of the page


def test_a_touch_shows_the_value_of_a_cell_below_the_map_and_in_view(browser, run):
    from playwright.sync_api import expect

    touch = context_of(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = touch.new_page()
    page.goto((run / "report/index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    page.locator("#map .cells").evaluate(
        "one => scrollTo(0, scrollY + one.getBoundingClientRect().bottom - innerHeight)"
    )
    page.touchscreen.tap(*locate(page, 16 + 6))

    value, canvas = page.locator("#map .pointed-value"), page.locator("#map .cells")
    expect(value).to_have_text(re.compile(r"^coverage of 90 %: [\d.]+\s%$"))
    expect_chosen(page, "row 1, column 2")
    assert page.locator("#map .pointed").inner_text() == f"{sorted(TILES)[1]}, row 1, column 2"
    box, of_map = value.bounding_box(), canvas.bounding_box()
    assert 0 <= box["y"] - of_map["y"] - of_map["height"] < 60
    assert box["y"] + box["height"] <= 844
    touch.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cells_without_pixels_look_unlike_any_number(browser, tmp_path, scheme):
    given = large_content(tiles=2, regions=1)
    (sums,) = given.cells.variables
    columns = {name: np.where(np.arange(len(column)) == 5, 0, column) for name, column in columns_of(sums).items()}
    cells = replace(given.cells, variables=[CellSums.of(sums.variable, columns, sums.metrics)])
    write_report(replace(given, cells=cells), tmp_path)
    page = context_of(browser, color_scheme=scheme).new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    empty, some = page.evaluate("""() => geouq.map.then(map => [5, 6].map(block => {
        const canvas = document.querySelector("#map canvas"), edge = canvas.getBoundingClientRect();
        const [x, y] = map.locate(block);
        return [...canvas.getContext("2d").getImageData(x - edge.left, y - edge.top, 1, 1).data.slice(0, 3)];
    }))""")
    legend = page.locator("#map .empty")
    fill = legend.locator("span").evaluate("one => getComputedStyle(one).backgroundColor.match(/\\d+/g).map(Number)")
    assert legend.inner_text() == "no data"
    page.context.close()

    assert fill[:3] == empty != some
    for scale in (scales.SIGNED, scales.OVER_CONFIDENT_ABOVE, scales.FAULT, scales.AMOUNT):
        steps = np.linspace(0, len(scale) - 1, 20 * len(scale))
        colours = np.stack([np.interp(steps, np.arange(len(scale)), part) for part in np.transpose(scale)], axis=1)
        for seen in (lab, seen_by_deuteranopes):
            own, others = seen(np.array([empty])), seen(colours)
            assert np.linalg.norm(others - own, axis=1).min() >= 10
            assert ciede2000(others, own).min() >= 10
    if scheme == "light":
        assert "#{:02x}{:02x}{:02x}".format(*empty) == EMPTY  # as in figures


def shifted(columns):
    return rasterio.Affine.translation(64 * columns, 0)


def test_the_histogram_of_pit_has_a_band_for_the_region_and_one_for_the_whole(opened, run):
    page = opened(region_page(run))
    data = page.evaluate(
        """() => geouq.load("diagrams", 0, 0).then(({whole}) => {
            const places = [0, 1, 2].map(() => document.createElement("div"));
            const own = {...whole, halfWidth: 0.5}, other = {...whole, halfWidth: 0.25};
            geouq.charts.draw(places, own, other, "m");
            const bands = [...places[2].querySelectorAll("rect.chance")];
            return bands.map(one => [one.getAttribute("class"), Number(one.getAttribute("height"))]);
        })"""
    )

    (whole, lower), (own, higher) = data
    assert (whole, own) == ("chance whole", "chance own")
    assert higher == pytest.approx(2 * lower, rel=0.02)


def test_points_without_limits_interrupt_the_band_of_a_selection_and_a_single_point_has_an_error_bar(opened):
    page = opened()
    drawn = page.evaluate(
        """() => {
            const place = document.createElement("div"), known = x => [x, x, x / 2, 1], unknown = x => [x, x];
            const points = [known(0.1), known(0.2), unknown(0.4), known(0.5), unknown(0.6), known(0.7), known(0.8)];
            geouq.charts.draw([document.createElement("div"), place, document.createElement("div")],
                {reliability: [], calibration: points, pit: [], halfWidth: null}, null, "m");
            return [...place.querySelectorAll("path.band, path.limits")].map(one => one.getAttribute("class"));
        }"""
    )

    assert drawn == ["band own", "limits own", "band own"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_fills_of_the_scorecard_are_apart_for_all_readers(opened, scheme):
    page = opened(scheme=scheme)
    for start, kinds in (("f", range(-3, 4)), ("b", range(-3, 4)), ("k", range(4))):
        colours = page.evaluate(
            """classes => classes.map(name => {
                const cell = document.querySelector(".card .key span").cloneNode();
                cell.className = name;
                document.querySelector(".card .key").append(cell);
                return getComputedStyle(cell).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number);
            })""",
            [f"{start}{kind}" for kind in kinds],
        )
        assert least_difference(colours) >= 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_fills_of_tables_are_apart_for_all_readers(opened, scheme):
    page = opened(scheme=scheme)
    colours = page.evaluate(
        """names => names.map(name => {
            const mark = document.body.appendChild(document.createElement("i"));
            mark.style.color = `var(--${name})`;
            return getComputedStyle(mark).color.match(/\\d+/g).slice(0, 3).map(Number);
        })""",
        ["over", "under", "good", "other", "paper"],
    )
    assert least_difference(colours) >= 10


@pytest.mark.parametrize("width", [390, 720, 768])  # 720 is 1440 at 200 %
def test_on_a_narrow_screen_nothing_is_wider_than_the_screen(opened, width):
    page = opened()
    resize(page, width, 800)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_narrow_screen_no_button_lies_on_the_map(opened):
    page = opened()
    resize(page, 390, 800)
    buttons, cells = (page.locator(f"#map {part}").bounding_box() for part in (".zoom", ".cells"))

    assert buttons["y"] >= cells["y"] + cells["height"]
    assert buttons["height"] < 50


# Texts that lie on other texts, or outside of the screen or of a box that cuts them off without a bar.
OVERLAPS = """() => {
    const lines = [], found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const own = node.parentElement;
        const seen = own.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !own.closest(".skip");
        if (!node.data.trim() || !seen || own.closest("select, option, noscript, script")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const {left, right, top, bottom} of range.getClientRects()) {
            const line = {own, text: node.data.trim().slice(0, 40), left, right, top, bottom};
            for (let box = own; box && box !== document.body; box = box.parentElement) {
                const {overflowX} = getComputedStyle(box), edge = box.getBoundingClientRect();
                if (overflowX === "visible" || box.namespaceURI.endsWith("svg")) continue;
                if (overflowX === "hidden" && right > edge.right + 1) found.push(["cut off", line.text]);
                line.left = Math.max(line.left, edge.left);
                line.right = Math.min(line.right, edge.right);
                line.top = Math.max(line.top, edge.top);
                line.bottom = Math.min(line.bottom, edge.bottom);
            }
            if (line.right - line.left > 1 && line.bottom - line.top > 4) lines.push(line);
        }
    }
    for (const line of lines) {
        const inside = line.left >= -1 && line.right <= document.documentElement.clientWidth + 1;
        if (!inside) found.push(["outside", line.text]);
    }
    lines.sort((a, b) => a.top - b.top);
    for (const [k, line] of lines.entries()) for (const other of lines.slice(k + 1)) {
        if (other.top >= line.bottom) break;
        const wide = Math.min(line.right, other.right) - Math.max(line.left, other.left);
        const high = Math.min(line.bottom, other.bottom) - Math.max(line.top, other.top);
        const least = Math.min(line.bottom - line.top, other.bottom - other.top);
        if (wide > 2 && high > 0.45 * least) found.push(["on each other", line.text, other.text]);
    }
    return found;
}"""


@pytest.mark.parametrize(
    ("width", "height", "zoom"), [(720, 450, 2), (390, 844, 2), (1024, 768, 1), (1440, 900, 1)]
)  # the first is 1440 x 900 at 200 %
def test_no_text_lies_on_another_or_is_cut_off(browser, run, tmp_path, width, height, zoom):
    given = large_content(tiles=24, regions=12, variables=5)
    write_report(replace(given, curves=large_curves(given.variables, given.regions)), tmp_path)
    context = context_of(browser, viewport={"width": width, "height": height}, device_scale_factor=zoom)
    for folder in (run / "report", tmp_path):
        for path in (folder / "index.html", next(one for one in folder.glob("*.html") if one.name != "index.html")):
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("#map[data-ready]")
            assert page.evaluate("[scrollX, document.documentElement.scrollWidth]") == [0, width]
            page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
            if page.locator(".sheet[data-sheet] tbody tr").count() == 0:
                page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERLAPS) == []
    context.close()


def test_texts_on_each_other_are_found(opened):
    page = opened()
    page.locator("#verdict .sentence").evaluate("one => { one.style.transform = 'translateY(1.2rem)'; }")
    assert sorted({one[0] for one in page.evaluate(OVERLAPS)}) == ["on each other"]
    page.locator("#verdict .sentence").evaluate(
        "one => { one.style = 'width: 3rem; overflow: hidden; white-space: nowrap'; }"
    )
    assert sorted({one[0] for one in page.evaluate(OVERLAPS)}) == ["cut off"]


SCROLL_BAR = 15  # pixels, which this browser hides


@pytest.mark.parametrize("says", ["−1.64 ?*", "+0.34 †*", "1.62 △*"])  # noqa: RUF001  the minus of numbers
@pytest.mark.parametrize(("regions", "variables"), [(11, 5), (30, 6)])
def test_the_scorecard_is_whole_on_a_wide_screen(opened, tmp_path, regions, variables, says):
    write_report(large_content(tiles=60, regions=regions, variables=variables), tmp_path)
    page = opened("index.html", tmp_path)
    resize(page, 1440, 900)
    needed, room = page.locator("#card .scroll").evaluate(
        """(box, says) => {
            for (const mark of box.querySelectorAll("td span")) {
                const [number, sign] = says.split(" ");
                mark.firstChild.data = `${number} `;
                mark.querySelector("i").textContent = sign;
                const state = says.includes("†") ? "untested" : says.includes("?") ? "open" : "sig";
                mark.className = `t-coverage f1 ${state}`;
            }
            const room = box.clientWidth;
            box.style.width = "0";
            return [box.scrollWidth, room];
        }""",
        says,
    )

    assert needed <= room - SCROLL_BAR


@pytest.mark.parametrize("width", [390, 1024])
def test_a_table_that_is_wider_than_its_box_fades_out_where_it_goes_on(opened, tmp_path, width):
    write_report(large_content(tiles=60, regions=4, variables=12), tmp_path)
    page = opened("index.html", tmp_path)
    resize(page, width, 800)
    box = page.locator("#card .scroll")
    page.locator("#card .scroll[data-right]").wait_for(timeout=20_000)
    assert "linear-gradient" in box.evaluate("box => getComputedStyle(box).maskImage")
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.locator("#card .scroll:not([data-right])").wait_for(timeout=20_000)
    assert box.evaluate("box => getComputedStyle(box).maskImage") == "none"


def region_page(run):
    return next(path.name for path in (run / "report").glob("*.html") if path.name != "index.html")


def test_a_region_page_compares_each_variable_with_the_whole_and_shows_its_worst_tile_on_the_map(opened, run):
    page = opened(region_page(run))
    lines = page.locator("#verdict li").all_inner_texts()
    assert len(lines) == 2
    assert all("the whole: " in line for line in lines)
    assert page.locator("#multiples svg").count() == 10  # reliability, calibration, PIT, coverage by truth and std of 2

    worst = page.locator("#worst tbody tr").nth(0)
    tile = worst.locator("th").inner_text()
    worst.locator("a").click()
    expect_chosen(page, f"^{re.escape(tile)}$")
    band = 1 + (worst.locator("td").nth(0).inner_text() != "height")
    mean, variance, truth = pixels(run, tile, slice(0, 4), slice(0, 4), band)
    assert told(page)["pixels"] == len(truth)
    assert told(page)["mean z²"] == pytest.approx(np.mean((truth - mean) ** 2 / variance), rel=1e-6)


def test_the_worst_tiles_have_pictures_of_their_cells(opened, run):
    page = opened(region_page(run))
    page.locator("#worst").scroll_into_view_if_needed()
    page.wait_for_selector("#worst table[data-ready]")

    row = page.locator("#worst tbody tr").filter(has_text="height").nth(0)
    tile = row.locator("th").inner_text()
    shown = row.locator("canvas").all()
    ranges = row.locator("figcaption").all_inner_texts()
    assert [one.split(":")[0] for one in ranges] == ["mean", "std", "error", "z"]
    assert row.locator("td").nth(1).inner_text() == thousands(len(pixels(run, tile, slice(0, 4), slice(0, 4))[0]))
    assert len(shown) == 4
    cells = [
        pixels(run, tile, slice(i, i + 1), slice(j, j + 1)) for i in range(SIDE // CELL) for j in range(SIDE // CELL)
    ]
    z = [float(np.mean((truth - mean) / np.sqrt(variance))) for mean, variance, truth in cells]
    least, most = (float(text.replace("\N{MINUS SIGN}", "-")) for text in ranges[3][3:].split(" to "))
    assert (least, most) == pytest.approx((min(z), max(z)), rel=1e-2)


@pytest.mark.parametrize("width", [390, 1280])
def test_pictures_of_the_worst_tiles_have_units_and_stand_next_to_each_other(opened, tmp_path, width):
    write_report(large_content(tiles=6, regions=2), tmp_path)
    page = opened(next(path.name for path in tmp_path.glob("region*.html")), tmp_path)
    resize(page, width, 844)
    page.locator("#worst").scroll_into_view_if_needed()
    page.wait_for_selector("#worst table[data-ready]")

    words = page.locator("#worst tbody tr").first.locator("figcaption").all_inner_texts()
    assert [text.endswith(" m") for text in words] == [True, True, True, False]
    boxes = [one.bounding_box() for one in page.locator("#worst tbody tr").first.locator("canvas").all()]
    assert len({round(box["y"]) for box in boxes}) == (2 if width == 390 else 1)
    assert all(box["width"] >= 80 for box in boxes)
    assert page.locator("#worst .scroll").evaluate("one => one.scrollWidth <= one.clientWidth + 1")


def test_the_first_and_the_last_number_of_an_axis_are_whole(opened):
    page = opened()
    cut = page.evaluate("""() => {
        const place = document.querySelectorAll("#part .chart"), none = {reliability: [], calibration: [], pit: []};
        const own = {...none, halfWidth: null, reliability: [[200, 2000], [7150, 7150]]};
        geouq.charts.draw(place, own, null, "m");
        const edge = place[0].firstChild.getBoundingClientRect();
        return [...place[0].querySelectorAll("text")].map(one => {
            const {left, right} = one.getBoundingClientRect();
            return [one.textContent, left < edge.left - 1 || right > edge.right + 1];
        });
    }""")

    assert "10k" in [text for text, _ in cut]
    assert not [text for text, is_cut in cut if is_cut]


def test_the_way_back_to_the_whole_is_offered_where_a_part_is_shown(opened):
    page = opened()
    button = page.locator("#part [data-press=all]")
    assert not button.is_visible()

    page.mouse.click(*locate(page, 16 + 6))
    expect_chosen(page, "row 1, column 2")
    assert button.is_visible()
    button.click()
    expect_chosen(page, "^all$")
    assert not button.is_visible()


def test_a_table_is_filtered_downloaded_and_keeps_its_sorting_in_the_address(opened, tmp_path):
    given = large_content(tiles=12, regions=12)
    write_report(given, tmp_path)
    page = opened("index.html", tmp_path)
    sheet = page.locator("#numbers .sheet")
    sheet.locator("[type=search]").fill("region 11")
    assert sheet.locator("tbody tr:visible").count() == 1

    with page.expect_download() as started:
        sheet.locator(".download").click()
    lines = started.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("variable,region,verdict,pixels,bias,bias_low,bias_high,RMSE,RMSE_low,RMSE_high")
    assert len(lines) == 2
    name, shown = lines[1].split(",")[1], sheet.locator("tbody tr:visible td").nth(3).inner_text()
    (value,) = (row["value"] for row in given.metrics if (row["name"], row["metric"]) == (name, "bias"))
    assert lines[1].split(",")[4:7] == [repr(value), "1.25", "2.5"]
    assert repr(value) not in shown  # which has the digits that the interval leaves

    heading = sheet.locator("th", has_text="RMSE")
    heading.locator("button").click()
    heading.locator("button").click()
    address = page.url.rpartition("/")[2]
    again = opened(address, tmp_path)
    assert again.locator("#numbers th", has_text="RMSE").get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("regions", [3, 80])
def test_a_downloaded_table_has_the_ends_of_intervals_where_there_are_some(opened, tmp_path, regions):
    """Of tables on the page, and of long ones, which come from files."""
    given = large_content(tiles=regions, regions=regions)
    without, none = next(iter(given.regions)), {"ci_low": None, "ci_high": None}
    metrics = [
        one | (none if one["name"] == without or one["metric"] == "rmse" else {"ci_low": 1 / 3})
        for one in given.metrics
    ]
    write_report(replace(given, metrics=metrics), tmp_path)
    page = opened("index.html", tmp_path)
    sheet = page.locator("#numbers .sheet")
    sheet.locator("tbody tr").first.wait_for()
    with page.expect_download() as started:
        sheet.locator(".download").click()
    rows = list(csv.DictReader(io.StringIO(started.value.path().read_text(encoding="utf-8"))))

    assert len(rows) == regions + 1
    assert {"bias_low", "bias_high"} <= set(rows[0])
    assert not {"pixels_low", "RMSE_low"} & set(rows[0])  # of which no row has an interval
    assert {(row["bias_low"], row["bias_high"]) for row in rows if row["region"] == without} == {("", "")}
    assert {(row["bias_low"], row["bias_high"]) for row in rows if row["region"] != without} == {("0.333333", "2.5")}
    assert all(float(row["bias"]) > 0 for row in rows)


def test_without_javascript_no_heading_looks_as_if_it_sorted(browser, opened, run):
    sign = "one => [getComputedStyle(one, '::after').content, getComputedStyle(one).cursor]"
    context = context_of(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto((run / "report" / "index.html").as_uri())
    headings = page.locator(".card thead button, .sheet thead button")
    found = headings.evaluate_all(f"all => all.map({sign})")
    context.close()

    assert len(found) > 10
    assert {content for content, _ in found} == {"none"}
    assert {cursor for _, cursor in found} <= {"auto", "help"}
    assert opened().locator(".card thead button").first.evaluate(sign)[0] == '"↕"'


def test_a_table_sorts_numbers_with_powers_of_ten_by_size(opened, tmp_path):
    given = large_content(tiles=5, regions=5)
    sizes = dict(zip(given.regions, (3e8, 5.0, 2e10, -4e7, 2e-6), strict=True))
    no_interval = {"ci_low": None, "ci_high": None}
    metrics = [
        one | no_interval | {"value": sizes[one["name"]]}
        if one["level"] == "region" and one["metric"] == "bias"
        else one
        for one in given.metrics
    ]
    write_report(replace(given, metrics=metrics), tmp_path)
    page = opened("index.html", tmp_path)
    heading = page.locator("#numbers .sheet th", has_text="bias")
    heading.locator("button").click()

    column = heading.evaluate("one => one.cellIndex")
    rows = page.locator("#numbers .sheet tbody tr").all()
    names = [row.locator("th").inner_text() for row in rows]
    assert [name for name in names if name in sizes] == sorted(sizes, key=sizes.get)
    shown = [row.locator("th, td").nth(column).inner_text().split("\n")[0].replace("\u00a0", "") for row in rows]
    assert {"\N{MINUS SIGN}4\N{MULTIPLICATION SIGN}10⁷", "2\N{MULTIPLICATION SIGN}10⁻⁶"} <= set(shown)


def test_a_number_is_written_alike_beside_the_map_and_in_the_table(opened):
    page = opened()
    lines = page.locator("#part .values tbody tr").all()
    beside = {line.locator("th").inner_text(): line.locator("td").nth(1).inner_text() for line in lines}
    sheet = page.locator(".sheet[data-name=regions]")
    headings = sheet.locator("thead th").all_inner_texts()
    cells = sheet.locator("tbody tr").first.locator("th, td").all_inner_texts()
    variable = page.locator("#part .of").inner_text()

    assert cells[0].startswith(variable)
    plain = {k: digits_of(v) for k, v in zip(headings, cells, strict=True)}
    both = {name: digits_of(text) for name, text in beside.items() if name in plain and "to" in text}
    assert len(both) >= 5
    assert both == {name: plain[name] for name in both}


def digits_of(text):
    """Numbers in a cell: the value and the ends of its interval."""
    return re.findall("−?[0-9.]+", text.replace("\u2007", ""))  # noqa: RUF001  the minus of numbers


def test_every_heading_of_a_number_explains_it(opened):
    page = opened()
    titles = page.locator("#numbers thead button").evaluate_all("all => all.map(one => one.title)")

    assert "" not in titles[4:]
    assert page.locator("#part .values th button[title^='Mean']").count() > 0


def test_what_a_number_means_is_shown_by_focus_by_touch_and_by_pointing_and_hidden_by_escape(opened, browser, run):
    from playwright.sync_api import expect

    page = opened()
    tip, heading = page.locator(".tip"), page.locator("#numbers thead button", has_text="RMSE")
    text = heading.get_attribute("title")
    assert text
    assert not tip.is_visible()

    heading.focus()
    assert tip.inner_text() == text
    assert heading.get_attribute("aria-describedby") == tip.get_attribute("id")
    assert not heading.get_attribute("title")  # so that browsers do not show it again
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("Tab")
    assert tip.is_visible()
    assert tip.inner_text() != text

    row = page.locator("#part .values th button").first
    row.hover()
    expect(tip).to_have_text(re.compile("^Mean"))
    box, edge = tip.bounding_box(), row.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5, steps=8)
    assert tip.is_visible()  # it can be pointed at, for readers who enlarge the screen
    assert box["x"] >= 0
    assert box["y"] >= edge["y"] + edge["height"] or box["y"] + box["height"] <= edge["y"]

    touch = context_of(browser, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = touch.new_page()
    page.goto((run / "report/index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    page.locator("#part .values th button").first.tap()
    tip = page.locator(".tip")
    assert tip.inner_text().startswith("Mean")
    assert tip.bounding_box()["x"] + tip.bounding_box()["width"] <= 390
    page.locator("h1").tap()
    assert not tip.is_visible()
    touch.close()


def test_the_first_touch_on_a_heading_explains_it_and_the_second_one_sorts(browser, run):
    touch = context_of(browser, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = touch.new_page()
    page.goto((run / "report/index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    page.locator("#numbers > summary").tap()
    heading, tip = page.locator("#numbers thead th", has_text="RMSE"), page.locator(".tip")
    other = page.locator("#numbers thead th", has_text="bias")
    text = heading.locator("button").get_attribute("title")

    heading.locator("button").tap()
    assert tip.inner_text() == f"{text} Touch again to sort."
    assert heading.get_attribute("aria-sort") is None
    heading.locator("button").tap()
    assert heading.get_attribute("aria-sort") == "ascending"
    other.locator("button").tap()
    assert other.get_attribute("aria-sort") is None  # each heading is explained first
    assert heading.get_attribute("aria-sort") == "ascending"
    other.locator("button").press("Enter")  # keys sort at once: focus has shown the text
    assert other.get_attribute("aria-sort") == "ascending"
    touch.close()


# Where the decimal points of the numbers of a column stand: after the last digit of one without.
POINTS = r"""cells => cells.map(cell => {
    const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
    const digits = text?.data.match(/^\s*[-+\u2212]?[\d\u202f]+/)?.[0].length;
    if (!digits) return null;
    const range = document.createRange();
    range.setStart(text, digits - 1);
    range.setEnd(text, digits);
    return range.getBoundingClientRect().right;
}).filter(place => place !== null)"""


def spread_of_points(cells):
    """How far apart decimal points of the numbers of a column are, in pixels, and how many numbers there are."""
    places = cells.evaluate_all(POINTS)
    return np.ptp(places) if places else 0.0, len(places)


def test_decimal_points_of_each_column_stand_below_each_other(opened):
    page = opened()
    page.locator("#part .numbers > summary").click()
    columns = [f"#numbers tbody tr td:nth-child({k})" for k in range(4, 14)]
    columns += [f"#part .values tbody td:nth-child({k})" for k in (3, 4)]
    columns += [
        f"#part .numbers table:nth-child({table}) tbody td:nth-child({k})" for table in (1, 2, 3) for k in (1, 2)
    ]
    found = [spread_of_points(page.locator(column)) for column in columns]

    assert all(count >= 4 for _, count in found)
    assert max(apart for apart, _ in found) < 1.5


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_decimal_points_of_the_scorecard_stand_below_each_other_whatever_the_signs(opened, tmp_path, width):
    """Also in rows that come from files."""
    from playwright.sync_api import expect

    given = large_content(tiles=150, regions=150, variables=2)
    sizes = [(1.5, 1.2, 1.9), (0.9712, 0.9705, 0.9719), (12.0, 2.0, 80.0), (1.02, 0.9, 1.15), (3.0, None, None)]
    rows, tests = [], []
    for number, region in enumerate(given.regions):
        value, low, high = sizes[number % len(sizes)]
        limits = {"ci_low": low, "ci_high": high, "ci_level": 0.95, "ci_method": "bca"} if low else {}
        rows.append(row("region", region, "variable 0", "z_std", value) | limits)
        rows.append(row("region", region, "variable 0", "z_mean", value - 1.3) | limits)
        tests += [p_row(region, "variable 0", "z_std", 0.001 if number % 2 else 0.5)] if low else []
    write_report(replace(given, metrics=[*given.metrics, *rows], verdicts=verdicts_of(rows, tests)), tmp_path)
    page = opened("index.html", tmp_path)
    resize(page, width, 900)
    page.locator(".card .more button").click()
    expect(page.locator(".card tbody tr")).to_have_count(151)

    for tab in ("spread", "bias"):
        page.locator(f"label[for=tab-{tab}]").click()
        apart, count = spread_of_points(page.locator(f".card tbody td:nth-child(2) .t-{tab}"))
        signs = set(page.locator(f".card tbody td:nth-child(2) .t-{tab} i").all_inner_texts())
        assert count > 100
        assert len(signs) >= 3
        assert apart < 1.5


def test_hostile_names_stay_text(opened):
    page = opened()

    assert page.locator("img[src=x], main b").count() == 0
    for block in (0, 16, 32, 48):
        page.mouse.move(*locate(page, block))
        if HOSTILE in page.locator("#map .pointed").inner_text():
            break
    else:
        pytest.fail("no cell told the tile's name")
    assert REGION in page.locator("#numbers").inner_text()


def test_the_table_of_numbers_is_whole_at_1280_pixels_and_its_caption_at_800(opened, tmp_path):
    made = large_content(tiles=8, regions=4)
    zms = [one for one in made.metrics if one["metric"] == "zms"]
    rows = [*made.metrics, *(one | {"metric": name, "bins": made.bins} for one in zms for name in ("uce", "ence"))]
    rows = [one | ({"ci_low": 0.0671, "ci_high": 0.977} if one["ci_low"] else {}) for one in rows]
    write_report(replace(made, metrics=rows), tmp_path)
    page = opened("index.html", tmp_path)
    table = page.locator("#numbers .scroll")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")

    resize(page, 800, 900)
    box = table.locator("caption").bounding_box()
    assert box["x"] + box["width"] <= 800


def test_on_paper_the_map_and_the_diagrams_fit_their_columns(opened):
    page = opened()
    page.emulate_media(media="print")
    page.evaluate("() => { document.body.style.width = '720px'; }")

    pictures = page.locator("#map canvas, #part svg").all()
    assert len(pictures) == 4
    for picture in pictures:
        assert picture.evaluate("one => one.getBoundingClientRect().width > 100")
        assert picture.evaluate("one => one.getBoundingClientRect().width <= one.parentElement.clientWidth + 1")


def test_on_paper_no_table_is_wider_than_a_page_and_the_map_stays_with_its_heading(opened):
    page = opened()
    resize(page, 711, 1000)  # A4 without its margins
    page.emulate_media(media="print")

    assert page.evaluate("[...document.querySelectorAll('table')].every(one => one.offsetWidth <= 1.1 * 711)")
    assert page.locator("#map").evaluate("one => getComputedStyle(one).breakInside") == "avoid"
    pointed_at = page.locator("#part .values thead th").nth(1)
    assert (pointed_at.inner_text(), pointed_at.is_visible()) == ("pointed at", False)


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_on_a_wide_screen_the_diagrams_of_a_selection_stand_next_to_the_map(opened, width):
    page = opened()
    resize(page, width, 900)
    page.mouse.click(*locate(page, 16 + 6))
    expect_chosen(page, "row 1, column 2")
    part, card, cells = (page.locator(name).bounding_box() for name in ("#part", "#card", "#map"))
    chart = page.locator("#part .chart").first.bounding_box()

    assert part["x"] + part["width"] <= cells["x"]
    assert part["y"] + part["height"] <= card["y"]  # above the scorecard, at the height of the map
    assert chart["y"] < cells["y"] + cells["height"]
    page.locator("#part [data-press=all]").click()
    expect_chosen(page, "^all$")
    part, card = (page.locator(name).bounding_box() for name in ("#part", "#card"))
    assert card["y"] + card["height"] <= part["y"]


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1440, 900)])
def test_a_region_page_shows_the_map_and_its_three_diagrams_on_the_first_screen(browser, run, tmp_path, width, height):
    """Also of many variables and with many warnings."""
    given = large_content(tiles=24, regions=3, variables=12)
    long = {"input_warnings": sentences(20, "warning")}
    write_report(replace(given, curves=large_curves(given.variables, given.regions), **long), tmp_path)
    context = context_of(browser, viewport={"width": width, "height": height})
    for path in (run / "report" / region_page(run), next(tmp_path.glob("region*.html"))):
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("#map[data-ready]")
        cells = page.locator("#map .cells").bounding_box()
        boxes = [one.bounding_box() for one in page.locator("#part .chart svg").all()]

        assert len(boxes) == 3
        assert all(box["x"] >= cells["x"] + cells["width"] and box["y"] + box["height"] <= height for box in boxes)
        assert cells["y"] + cells["height"] <= height
        assert cells["height"] >= 170
    context.close()


def test_the_whole_list_of_variables_of_a_region_is_one_click_away_and_on_paper(opened, tmp_path):
    write_report(large_content(tiles=4, regions=2, variables=9), tmp_path)
    page = opened(next(path.name for path in tmp_path.glob("region*.html")), tmp_path)
    lines = page.locator("#verdict li")

    assert (lines.count(), page.locator("#verdict li:visible").count()) == (9, 4)
    page.get_by_text("5 more variables").click()
    assert page.locator("#verdict li:visible").count() == 9
    page.get_by_text("5 more variables").click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#verdict li:visible").count() == 9


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (2e4, 3e6, {"30k", "1M"}),
        (2e-6, 3e-5, {"1\N{MULTIPLICATION SIGN}10⁻⁵"}),
        (2e9, 5e9, {"2\N{MULTIPLICATION SIGN}10⁹"}),
        (0.2, 0.9, {"0.5"}),
    ],
)
def test_labels_of_a_reliability_diagram_are_short_and_whole(opened, low, high, labels):
    page = opened()
    found = page.evaluate(
        """([low, high]) => {
            const places = [...document.querySelectorAll("#part .chart")];
            const reliability = [[low, high], [high, low]];
            geouq.charts.draw(places, {reliability, calibration: [], pit: []}, null, "m");
            const svg = places[0].querySelector("svg"), edge = svg.getBoundingClientRect();
            return [...svg.querySelectorAll("text")].map(one => {
                const {left, right} = one.getBoundingClientRect();
                return [one.textContent, left >= edge.left - 1 && right <= edge.right + 1];
            });
        }""",
        [low, high],
    )

    assert labels <= {text for text, _ in found}
    assert all(is_whole for _, is_whole in found)


@pytest.mark.parametrize("width", [390, 1024, 1280, 1440])
def test_letters_of_the_diagrams_of_a_selection_can_be_read(opened, run, width):
    for name in ("index.html", region_page(run)):
        page = opened(name)
        resize(page, width, 900)
        heights = page.locator("#part svg text").evaluate_all(
            "all => all.map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
        )
        assert min(heights) >= 8.5  # CSS pixels


def test_the_buttons_do_not_lie_on_the_cells_of_a_wide_map(browser, tmp_path):
    given = large_content(tiles=4, regions=2)
    places = [
        replace(one.place, grid=replace(one.place.grid, transform=one.place.grid.transform @ shifted(0)))
        for one in given.cells.layout.tiles
    ]
    layout = layout_of(places, 1)
    write_report(replace(given, cells=replace(given.cells, layout=layout)), tmp_path)
    context = context_of(browser, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("#map[data-ready]")
    count = page.evaluate("geouq.map.then(map => map.numbersOfBlocks().length)")
    rightmost = max(locate(page, block)[0] for block in range(count))

    assert rightmost < page.locator("#map .zoom").bounding_box()["x"]
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(opened, run, scheme):
    if importlib.util.find_spec("axe_core_python") is None:
        pytest.skip("needs the package axe-core-python")
    axe = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    for path in (run / "report").glob("*.html"):
        page = opened(path.name, scheme=scheme)
        page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
        page.locator("thead button[title]").first.focus()
        assert page.locator(".tip").is_visible()
        page.evaluate(axe)
        found = page.evaluate("axe.run()")["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_intervals_below_filled_numbers_have_the_colour_of_the_numbers(opened, scheme):
    page = opened(scheme=scheme)
    for says in {**FINDINGS, **MARKS}:
        number, small = page.evaluate(
            """says => {
                const cell = document.querySelector(".sheet tbody td:not(.text)");
                cell.className = says.replaceAll(" ", "-");
                const small = cell.appendChild(document.createElement("small"));
                const filled = getComputedStyle(cell).backgroundColor !== "rgba(0, 0, 0, 0)";
                return [filled, getComputedStyle(small).color === getComputedStyle(cell).color];
            }""",
            says,
        )
        assert (says, number) == (says, True)
        assert (says, small) == (says, True)


def test_a_long_table_shows_some_rows_and_finds_the_others(opened, tmp_path):
    tiles = [f"tile{number}" for number in range(300)]
    rows = [row("tile", tile, "P95", "bias", float(number)) for number, tile in enumerate(tiles)]
    write_report(
        content(metrics=[*content().metrics, *rows], tiles=tiles, regions={"west": tiles}, figures={}), tmp_path
    )
    page = opened("west.html", tmp_path)
    sheet = page.locator("#tiles")
    sheet.evaluate("element => element.scrollIntoView()")

    sheet.locator("tbody tr").first.wait_for()
    assert sheet.locator("tbody tr").count() == 100
    sheet.get_by_role("button", name="More rows").click()
    assert sheet.locator("tbody tr").count() == 200
    sheet.locator("th", has_text="bias").get_by_role("button").click()
    sheet.locator("th", has_text="bias").get_by_role("button").click()
    assert sheet.locator("tbody tr th").first.inner_text() == "tile299"
    sheet.locator("input").fill("tile12")
    assert sheet.locator("tbody tr").count() == 11
    assert sheet.locator("output").inner_text() == "11 of 300 rows shown"


def test_a_long_table_has_the_signs_of_the_short_ones(opened, tmp_path):
    names = [f"region{number}" for number in range(200)]
    low, high = ({"ci_low": 0.9 * value, "ci_high": 1.1 * value, "ci_level": 0.95} for value in (0.3, 3.0))
    rows = [
        row("region", name, "P95", metric, 3.0 if number % 2 else 0.3) | (high if number % 2 else low)
        for number, name in enumerate(names)
        for metric in ("zms", "z_std")
    ]
    regions, tests = {name: ["a"] for name in names}, [p_row(name, "P95", "z_std", 0.001) for name in names]
    write_report(content(metrics=[*content().metrics, *rows], regions=regions, tests=tests, figures={}), tmp_path)
    sheet = opened("index.html", tmp_path).locator(".sheet[data-name=regions]")
    sheet.evaluate("element => { element.closest('details')?.setAttribute('open', ''); element.scrollIntoView(); }")
    sheet.locator("tbody tr").first.wait_for()

    signs = sheet.locator("tbody .mark").evaluate_all("all => all.map(one => [one.ariaLabel, one.textContent])")
    assert len(signs) >= 50
    assert all(MARKS[says] == sign.strip() for says, sign in signs)


def test_five_thousand_tiles_in_forty_regions_are_small_files_and_few_elements(opened, tmp_path):
    """The 80 000 cells are painted, and rows of long tables are made when they are looked at."""
    written = write_report(large_content(tiles=5000, regions=40), tmp_path)
    sessions = []

    def measured(page):
        sessions.append(page.context.new_cdp_session(page))
        sessions[0].send("Performance.enable")

    page = opened("index.html", tmp_path, before=measured)
    metrics = sessions[0].send("Performance.getMetrics")["metrics"]
    found = {one["name"]: one["value"] for one in metrics}

    assert max(path.stat().st_size for path in written) < 1.5e6
    assert page.evaluate("geouq.map.then(map => map.numbersOfBlocks().length)") == 80_000
    assert page.locator("#numbers tbody tr").count() == 41
    assert found["Nodes"] < 8000
    assert found["JSEventListeners"] < 300

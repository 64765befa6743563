// The map of cells on a canvas: colours of a metric; as on the scorecard, a thick outline where that metric of a region
// is significant, and hatching where it is open or untested. A click or a box shows numbers from the sums of these cells.
"use strict";
geouq.map = (async () => {
  const section = document.querySelector("#map"), panel = document.querySelector("#part");
  if (!section) return null;
  const {cells, charts, colours, element, padded, people, thousands, withInterval} = geouq;
  const host = section.querySelector(".cells"), canvas = host.querySelector("canvas"), context = canvas.getContext("2d");
  const [chooseVariable, chooseMetric, choosePart] = section.querySelectorAll("select");
  const values = panel.querySelector(".values tbody"), spoken = section.querySelector(".spoken"), tabs = [...document.querySelectorAll("[name=tab]")];
  const layout = await cells.layout(), {regions} = layout;
  const only = JSON.parse(section.dataset.map), wanted = only && new Set(only), home = Math.max(0, regions.names.indexOf(section.dataset.home));
  const tiles = [...layout.names.keys()].filter(tile => !wanted || wanted.has(layout.names[tile]));
  const map = geouq.geometry(layout, tiles), shownTiles = new Set(tiles);
  const outlines = regions.tiles.map((own, k) => own ? map.outline(own.filter(tile => shownTiles.has(tile))) : regions.lines[k] && map.traced(regions.lines[k], regions.spots[k]));
  const cuts = layout.cut && layout.ground && !layout.ground.step[1] && !layout.ground.step[2] ? map.spans(layout.ground) : null, hasCuts = cuts && cuts.x.length + cuts.y.length > 2;
  let variable, data, metrics, view, hatched, drag = null;
  const {raster} = map, picture = element("canvas", {width: raster.columns, height: raster.rows}), image = new ImageData(raster.columns, raster.rows);
  let part = {region: home}, pointed = null, cursor = null, anchor = null;

  const has = block => block >= 0 && data.columns.n[block] > 0;
  const metric = () => metrics[chooseMetric.selectedIndex];
  const isShare = () => metric().unit === "in %";
  /** The metric of the tab of the scorecard that is open; none where the map has no such metric. */
  const metricOfTab = () => { const tab = tabs.find(one => one.checked); return tab && metrics.find(one => one.part === tab.value); };
  /** Open the tab of the scorecard that shows the metric of the map, where there is one. */
  function openTab() {
    const tab = tabs.find(one => one.value === metric().part);
    if (!tab || tab.checked) return;
    tab.checked = true;
    tab.dispatchEvent(new Event("change"));
  }
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // What is drawn.
  const LEAST = 200, MARGIN = 6, buttons = section.querySelector(".zoom");
  /** Fit the map above a strip for the scale and the coordinates, and beside the buttons where they lie on it; where it stands next to other parts, it ends on the first screen if there is room. */
  function fit() {
    const ratio = devicePixelRatio || 1, wide = host.clientWidth, isBeside = wide < 0.8 * section.parentElement.clientWidth, room = isBeside ? innerHeight - host.getBoundingClientRect().top - scrollY - MARGIN : Infinity;
    const most = Math.min(380, Math.max(240, 0.42 * innerHeight), Math.max(LEAST, room)), high = Math.round(Math.min(most, Math.max(170, wide * map.height / map.width)));
    Object.assign(canvas, {width: wide * ratio, height: high * ratio});
    canvas.style.height = `${high}px`;
    const aside = getComputedStyle(buttons).position === "absolute" ? buttons.offsetWidth : 0, scale = Math.min((wide - 72 - aside) / map.width, (high - 56) / map.height);
    view = {wide, high, ratio, scale, left: (wide + 56 - aside - scale * map.width) / 2, top: (high - 40 - scale * map.height) / 2};
  }
  const across = x => view.left + x * view.scale, down = y => view.top + y * view.scale;
  const back = (x, y) => ({x: (x - view.left) / view.scale, y: (y - view.top) / view.scale});
  /** The number of each block by the metric chosen; NaN where there is no pixel. */
  function numbersOfBlocks() {
    const found = new Float32Array(layout.first.at(-1)).fill(NaN), {at} = metric();
    for (const block of map.every) if (has(block)) found[block] = at(data.columns, block);
    return found;
  }
  /** Make the picture of the cells in the colours of the metric. */
  function paint() {
    const found = numbersOfBlocks(), most = found.reduce((a, b) => b > a ? b : a, 1), {paint: painted, values: steps, colours: bar} = colours.scale(metric(), most);
    const own = new Uint32Array(painted(found).buffer), pixels = new Uint32Array(image.data.buffer), {blocks} = raster; // a colour is one number
    for (let pixel = 0; pixel < blocks.length; pixel++) if (blocks[pixel] >= 0) pixels[pixel] = own[blocks[pixel]];
    picture.getContext("2d").putImageData(image, 0, 0);
    hatched = openTiles();
    explain();
    section.querySelector(".mapped").textContent = `: ${chooseVariable.value}, `;
    section.querySelector(".legend").replaceChildren(isShare() ? named({...metric(), unit: ""}) : named(metric())); // its numbers have the unit
    section.querySelector(".gradient").style.background = `linear-gradient(to right, ${bar.join(", ")})`;
    section.querySelector(".steps").replaceChildren(...steps.map((step, k) => element("span", {}, beyond(found, steps, k) + people(cells.forPeople(metric(), step)) + (isShare() && (k === 0 || k === steps.length - 1) ? "\u00a0%" : ""))));
    draw();
  }
  /** The sign of an end of the colours that holds numbers beyond it. */
  function beyond(found, steps, k) {
    if (k === 0) return found.some(number => number < steps[0]) ? "≤ " : "";
    return k === steps.length - 1 && found.some(number => number > steps[k]) ? "≥ " : "";
  }
  function hatch() {
    const tile = element("canvas", {width: 7, height: 7}), pen = tile.getContext("2d");
    pen.strokeStyle = "rgb(0 0 0 / .55)";
    pen.lineWidth = 0.8;
    pen.beginPath();
    for (const start of [-7, 0, 7]) { pen.moveTo(start, 7); pen.lineTo(start + 7, 0); }
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }
  const SIGNIFICANT = "s", NONE = "-";
  /** What the tests say of the metric of the map in a region, as on the scorecard: significant, open, untested, or nothing; nothing of a metric that the scorecard does not have. */
  const stateOf = region => variable.states[metric().part]?.[region] ?? NONE;
  /** The region whose tests the cells of a tile show: that of the page; on the first page the smallest one, or the whole. */
  const shownRegion = new Map(tiles.map(tile => [tile, home]));
  if (home === 0) {
    const bySize = [...regions.tiles.keys()].filter(k => regions.tiles[k]).sort((a, b) => regions.tiles[b].length - regions.tiles[a].length);
    for (const k of bySize) for (const tile of regions.tiles[k]) shownRegion.set(tile, k);
  }
  const openTiles = () => tiles.filter(tile => ![SIGNIFICANT, NONE].includes(stateOf(shownRegion.get(tile))));
  /** Say what hatching and outlines show, and why numbers of cells differ from those of the whole, or of files. */
  function explain() {
    const {name, part: tab} = metric(), outlined = outlines.some(one => one?.lines.length) ? "; thick outline of a region where it is significant" : "";
    const shown = new Set(shownRegion.values()), where = !shown.has(0) ? "the region" : shown.size > 1 ? "the region, or of the whole outside of regions," : "the whole";
    section.querySelector(".hatching").textContent = tab in variable.states ? `Hatched where the ${name} of ${where} is not conclusive or cannot be tested${tabs.length ? ", as on the scorecard" : ""}${outlined}.` : `Nothing is hatched: hatching belongs to the tested numbers of the scorecard, and ${name} is none of them.`;
    const note = section.querySelector(".within"), parts = metric().part === "spread" && data.columns.z_square ? cells.scatter(data.columns, map.every) : null;
    const [within, between, total] = parts ? [parts.within, parts.between, parts.total].map(people) : [];
    const scatter = parts && `A cell shows the scatter about its own mean (over all cells ${within}), not how far the means of cells differ (${between}). Together they make ${total} (squares add).`;
    note.textContent = metric().isBinned ? "In the bins of the whole, so that cells add up; the files of cells have bins of each cell, and so other numbers." : scatter || "";
    note.hidden = !note.textContent;
  }
  function rectangle({left, right, top, bottom}) {
    context.strokeRect(across(left), down(-top), (right - left) * view.scale, (top - bottom) * view.scale);
  }
  function trace(lines) {
    context.beginPath();
    for (const [x0, y0, x1, y1] of lines) { context.moveTo(across(x0), down(y0)); context.lineTo(across(x1), down(y1)); }
    context.stroke();
  }
  function pen(colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
  }
  const FONT = "12px system-ui, sans-serif";
  function written(text, x, y, align = "left") {
    Object.assign(context, {textAlign: align, fillStyle: ink("ink"), font: FONT, lineJoin: "round"});
    pen(ink("paper"), 3.5);
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
  function cover(some, fill) {
    context.fillStyle = fill;
    context.beginPath();
    const snapped = place => Math.round(place * view.ratio) / view.ratio; // as the picture of the cells ends
    for (const tile of some) {
      const {left, top, right, bottom} = map.sides(tile), x = snapped(across(left)), y = snapped(down(top));
      context.rect(x, y, snapped(across(right)) - x, snapped(down(bottom)) - y);
    }
    context.fill();
  }
  function draw() {
    context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    context.clearRect(0, 0, view.wide, view.high);
    context.imageSmoothingEnabled = false;
    const step = raster.step * view.scale;
    context.drawImage(picture, view.left, view.top, raster.columns * step, raster.rows * step);
    context.globalCompositeOperation = "source-atop";  // only cells with pixels are hatched
    cover(hatched, hatch());
    context.globalCompositeOperation = "destination-over";
    cover(tiles, ink("nodata"));
    context.fillStyle = ink("panel");
    context.fillRect(0, 0, view.wide, view.high);
    context.globalCompositeOperation = "source-over";
    drawRegions();
    if (part.box) { pen(ink("ink"), 2.5); rectangle(part.box); }
    if (pointed !== null) { pen(ink("ink"), 1.2); rectangle(map.place(pointed)); }
    if (drag?.box) { pen(ink("link"), 1.5); rectangle(drag.box); }
    drawCuts();
    drawScale();
    drawCoordinates();
  }
  /** Outlines of regions: thick where the metric is significant, and the one that is chosen last, in a colour of its own. */
  function drawRegions() {
    const rank = k => k === part.region ? 2 : Number(stateOf(k) === SIGNIFICANT);
    for (const k of [...outlines.keys()].filter(k => outlines[k]?.lines.length).sort((a, b) => rank(a) - rank(b))) {
      const width = stateOf(k) === SIGNIFICANT ? 3 : 1;
      pen(ink("paper"), width + 2.5);
      trace(outlines[k].lines);
      pen(ink(k === part.region && k !== home ? "link" : "ink"), width);
      trace(outlines[k].lines);
    }
    drawNames();
  }
  /** Names of regions, and where the map has no other than that of the page, of tiles: where they fit and are free. */
  const widths = new Map();
  function widthOf(name) {
    if (!widths.has(name)) widths.set(name, context.measureText(name).width);
    return widths.get(name);
  }
  function drawNames() {
    const taken = [], ofRegions = outlines.flatMap((one, k) => k === home || !one ? [] : one.labels.map(label => [regions.names[k], label, 1.6]));
    context.font = FONT;
    for (const [name, label, most] of ofRegions.length ? ofRegions : tiles.map(tile => [layout.names[tile], map.labelOf([map.sides(tile)]), 1])) {
      const wide = widthOf(name), x = across(label.x);
      if (wide >= most * label.width * view.scale) continue;
      const free = [0, 15, -15, 30, -30].map(shift => down(label.y) + 4 + shift).find(y => taken.every(other => Math.abs(other.y - y) >= 14 || Math.abs(other.x - x) > (other.wide + wide) / 2));
      if (free === undefined) continue;
      taken.push({x, y: free, wide});
      written(name, x, free, "center");
    }
  }
  function drawScale() {
    const metres = layout.ground?.metres;
    if (!metres) return;
    const rough = 110 / view.scale * metres, power = 10 ** Math.floor(Math.log10(rough)), length = [5, 2, 1].map(m => m * power).find(size => size <= rough);
    const wide = length / metres * view.scale, x = view.wide - wide - 12, y = view.high - 30;
    for (const [colour, width] of [[ink("paper"), 5], [ink("ink"), 2]]) {
      pen(colour, width);
      context.beginPath();
      context.moveTo(x, y - 4); context.lineTo(x, y); context.lineTo(x + wide, y); context.lineTo(x + wide, y - 4);
      context.stroke();
    }
    written(length >= 1000 ? `${people(length / 1000)} km` : `${people(length)} m`, x + wide / 2, y - 7, "center");
  }
  /** Coordinates along the lower and left edge, where all tiles lie as on the ground. */
  function drawCoordinates() {
    const {ground} = layout;
    if (!ground || layout.where && !layout.cut || ground.step[1] || ground.step[2]) return;
    if (hasCuts) { drawEdges(ground); return; }
    const [wide, , , high] = ground.step, [tile] = tiles, x0 = ground.x[tile] - (layout.lefts[tile] - map.left) * wide, y0 = ground.y[tile] - (layout.tops[tile] - map.top) * high;
    /** Some of the coordinates along an axis, at least so many pixels of the screen apart. */
    const spaced = (marks, step, least) => marks.filter((_, k) => k % Math.ceil(least / (Math.abs((marks[1] - marks[0]) / step) * view.scale) || 1) === 0);
    context.font = FONT;
    for (const tick of spaced(ticks(x0, x0 + map.width * wide), wide, 74)) {
      const text = people6(tick), x = across((tick - x0) / wide);
      if (x + context.measureText(text).width / 2 <= view.wide) written(text, x, view.high - 6, "center");
    }
    for (const tick of spaced(ticks(y0, y0 + map.height * high), high, 16)) written(people6(tick), 4, down((tick - y0) / high) + 4);
  }
  /** Lines of both axes, broken by two strokes where a strip is cut out, and a dashed line across the map at each cut. */
  function drawCuts() {
    if (!hasCuts) return;
    const bottom = view.high - 21, left = 58;
    const line = (x0, y0, x1, y1) => { context.moveTo(x0, y0); context.lineTo(x1, y1); };
    const axis = (spans, place, stretch, strokes, crossing) => spans.forEach(([start, end], k) => {
      const from = place(start), to = place(end), next = spans[k + 1] && (to + place(spans[k + 1][0])) / 2;
      pen(ink("soft"), 1);
      context.beginPath();
      stretch(from, to);
      if (next !== undefined) strokes(next);
      context.stroke();
      if (next === undefined) return;
      context.setLineDash([2, 4]);
      context.beginPath();
      crossing(next);
      context.stroke();
      context.setLineDash([]);
    });
    axis(cuts.x, across, (a, b) => line(a, bottom, b, bottom), x => { line(x - 5, bottom + 5, x - 1, bottom - 5); line(x + 1, bottom + 5, x + 5, bottom - 5); }, x => line(x, 0, x, bottom - 7));
    axis(cuts.y, down, (a, b) => line(left, a, left, b), y => { line(left - 5, y + 5, left + 5, y + 1); line(left - 5, y - 1, left + 5, y - 5); }, y => line(left + 7, y, view.wide, y));
  }
  /** The coordinates of tiles, where strips between them are cut out: those of their left and upper edges, first those after a cut. */
  function drawEdges(ground) {
    const spread = (edge, spans, numbers, place, apart, draw) => {
      const taken = [], first = new Set(spans.map(([start]) => start));
      for (const tile of [...tiles].sort((a, b) => first.has(map.sides(b)[edge]) - first.has(map.sides(a)[edge]) || map.sides(a)[edge] - map.sides(b)[edge])) {
        const at = place(map.sides(tile)[edge]);
        if (taken.some(other => Math.abs(other - at) < apart)) continue;
        taken.push(at);
        draw(people6(numbers[tile]), at);
      }
    };
    spread("left", cuts.x, ground.x, across, 62, (text, x) => written(text, x, view.high - 6, "center"));
    spread("top", cuts.y, ground.y, down, 16, (text, y) => written(text, 4, y + 4));
  }
  function ticks(a, b) {
    const low = Math.min(a, b), high = Math.max(a, b), rough = (high - low) / 3.5, power = 10 ** Math.floor(Math.log10(rough)), step = [10, 5, 2, 1].map(m => m * power).find(size => size <= rough);
    return Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, k) => (Math.ceil(low / step) + k) * step);
  }
  const people6 = number => String(Number(number.toPrecision(7))).replaceAll("-", "\u2212");
  /** Coordinates of the middle of a block, as text; empty where they are not known. */
  function coordinates(block) {
    const {ground} = layout;
    if (!ground) return "";
    const {tile, x, y} = map.place(block), [a, b, c, d] = ground.step;
    const column = x + map.left - layout.lefts[tile], row = -y + map.top - layout.tops[tile];
    return `${people6(ground.x[tile] + a * column + b * row)}, ${people6(ground.y[tile] + c * column + d * row)} (${ground.crs})`;
  }

  // What is chosen.
  /** Choose the cells whose middles lie in a box. */
  function chooseBox(box, keep = true) {
    const blocks = map.every.filter(block => {
      const {x, y} = map.place(block);
      return has(block) && x >= box.left && x <= box.right && y >= box.bottom && y <= box.top;
    });
    if (blocks.length) choose({blocks, box}, keep && {part: null, cell: null, tile: null, box: [box.left, box.bottom, box.right, box.top].map(side => Math.round(side)).join(",")});
  }
  const chooseCell = (block, keep = true) => choose({blocks: [block], box: map.place(block)}, keep && {part: null, box: null, tile: null, cell: block});
  const chooseRegion = (region, keep = true) => choose({region}, keep && {part: region === home ? null : regions.names[region], box: null, cell: null, tile: null});
  function chooseTile(tile) {
    const {left, right, top, bottom} = map.sides(tile), blocks = map.every.filter(block => has(block) && block >= layout.first[tile] && block < layout.first[tile + 1]);
    return choose({blocks, box: {left, right, top: -top, bottom: -bottom}, name: layout.names[tile]});
  }
  async function choose(one, changes) {
    part = one;
    if (changes) geouq.remember(changes);
    choosePart.value = "region" in part ? part.region : "";
    draw();
    await show();
  }
  function titleOf() {
    if ("region" in part) return part.region === 0 ? "all" : regions.names[part.region];
    if (part.name) return part.name;
    return part.blocks.length === 1 ? map.named(part.blocks[0]) : `${thousands(part.blocks.length)} cells`;
  }
  /** Numbers and diagrams of a region; those of the whole come with the variable. */
  async function diagramsOf(region) {
    const [variableOf, k] = [chooseVariable.selectedIndex, region - 1];
    const first = await cells.described(layout, variableOf);
    if (region === 0 || first.regions) return region === 0 ? first.whole : first.regions[k];
    return (await geouq.load("diagrams", variableOf, 1 + Math.floor(k / regions.perFile)))[k % regions.perFile];
  }
  /** Load the columns of a kind, once. */
  function need(kind, of = data) {
    return of.loads[kind] ??= cells.load(kind, layout, of.number, tiles).then(found => {
      of.columns = cells.grouped({...of.columns, ...found});
      of.ready.add(kind);
    });
  }
  /** Show numbers and diagrams of the selection: a region has the numbers of the tables, cells have those of their sums. */
  async function show() {
    const one = part, of = variable, base = await diagramsOf(home), isHome = one.region === home;
    const whole = home === 0 ? isHome ? null : base : one.region === 0 ? null : await diagramsOf(0);
    let own = one.region === undefined ? null : await diagramsOf(one.region), total = null;
    if (!own) {
      await Promise.all(["sums", "bins"].map(kind => need(kind)));
      if (one !== part || of !== variable) return; // something else was chosen in the meantime
      total = cells.total(data.columns, one.blocks);
      own = !variable.rows.bins ? null : variable.shares ? geouq.forms.curves(total, variable) : cells.curves(total);
    }
    if (one !== part || of !== variable) return;
    panel.querySelector(".chosen").textContent = titleOf();
    panel.querySelector("[data-press=all]").hidden = isHome;
    panel.querySelector(".of").textContent = chooseVariable.selectedOptions[0].text;
    const cellsOf = one.blocks ? `These cells${variable.shares ? "" : " in the bins of the whole; they"} have no bands and no intervals.` : variable.shares ? "A dash: no number, or no interval." : `Bins: ${layout.bins} of ${one.region === 0 ? "the whole" : "this region"}. A dash: no number, or no interval.`;
    panel.querySelector(".bins").textContent = variable.rows.bins ? cellsOf : "";
    const places = [...panel.querySelectorAll(".chart")];
    const ofChosen = metrics.map(({id, at}) => total ? [at(total)] : own.numbers[id]), {numbers} = whole ?? await diagramsOf(0), ofWhole = metrics.map(({id}) => numbers[id]);
    tell(CHOSEN, ofChosen, total !== null);
    tell(WHOLE, ofWhole);
    if (own && variable.shares) geouq.forms.draw(panel, own, whole, variable, {metrics, numbers: ofChosen, numbersOfWhole: whole && ofWhole});
    else if (own) {
      charts.draw(places, own, whole, variable.units);
      spell(own);
    }
    panel.parentElement.classList.toggle("of-cells", Boolean(one.blocks));
    panel.dataset.shown = titleOf();
  }
  const POINTED = 1, CHOSEN = 2, WHOLE = 3; // columns of the table of numbers
  /** Fill a column; summed : whether its numbers are from the sums of cells, whose bins are those of the whole. */
  function tell(column, numbers, summed = false) {
    const some = numbers.some(one => one?.[1] !== undefined), lines = metrics.map((one, k) => {
      const [value, low, high] = numbers[k] ?? [], hasInterval = low !== undefined && column !== POINTED;
      const [text, from, to] = hasInterval ? withInterval(...[value, low, high].map(own => cells.forPeople(one, own))) : [value === undefined ? column === POINTED ? "" : "\u2013" : people(cells.forPeople(one, value))];
      const under = hasInterval ? `${from} to ${to}` : value === undefined ? "" : summed && one.isBinned ? "bins of the whole" : some ? "\u2013" : "";
      return {value, under, text: one.id === "n" && value !== undefined ? thousands(value) : text};
    });
    padded(lines.map(({text}) => text)).forEach((text, k) => {
      const cell = values.rows[k].cells[column], {value, under} = lines[k];
      cell.dataset.value = value ?? "";
      cell.replaceChildren(text);
      if (under || column !== POINTED) cell.append(" ", element("small", {}, under)); // empty ones keep numbers below their heading
    });
  }
  function point(block) {
    const found = has(block) ? block : null;
    if (found === pointed) return;
    pointed = found;
    section.querySelector(".pointed").textContent = found === null ? "" : map.named(found);
    section.querySelector(".where").textContent = found === null ? "" : coordinates(found);
    tellPointed();
    draw();
    if (!data.ready.has("sums")) need("sums").then(tellPointed);
  }
  /** The metric of the map and its number in a block; empty until its columns are loaded. */
  const valueAt = block => data.ready.has(metric().kind) ? `${metric().name}: ${people(cells.forPeople(metric(), metric().at(data.columns, block)))}${metric().isPercent ? metric().unit.replace("in ", "\u00a0") : ""}` : "";
  /** Show the numbers of the cell that is pointed at, of those columns that are loaded. */
  function tellPointed() {
    tell(POINTED, metrics.map(one => pointed !== null && data.ready.has(one.kind) ? [one.at(data.columns, pointed)] : undefined), true);
    section.querySelector(".pointed-value").textContent = pointed === null ? "" : valueAt(pointed);
  }
  /** The numbers of the diagrams, for those who cannot see them, and for copying. */
  function spell({reliability, calibration, pit}) {
    const bodies = panel.querySelectorAll(".numbers tbody");
    if (!bodies.length) return;
    const table = (body, rows, factor = 1) => {
      const columns = (rows[0] ?? []).map((_, k) => padded(rows.map(row => people(factor * row[k]))));
      body.replaceChildren(...rows.map((row, i) => element("tr", {}, ...row.map((number, k) => {
        const cell = element("td", {}, columns[k][i]);
        cell.dataset.value = number;
        return cell;
      }))));
    };
    table(bodies[0], reliability.map(([predicted, observed], k) => [k + 1, predicted, observed]));
    table(bodies[1], calibration.map(([level, below]) => [level, below]), 100);
    table(bodies[2], pit.map((density, k) => [(k + 0.5) / pit.length, density]));
  }

  /** The name of a metric, with what it means if that is known. */
  function named(one) {
    const title = layout.about[one.of], text = cells.labelled(one.name, one.unit);
    return title ? element("button", {type: "button", className: "term", title}, text) : text;
  }
  async function useVariable() {
    const before = geouq.state().metric ?? chooseMetric.value;
    host.setAttribute("aria-busy", "true");
    const number = chooseVariable.selectedIndex, next = {number, columns: {}, loads: {}, ready: new Set()};
    const [found] = await Promise.all([cells.described(layout, number), need("cells", next)]);
    if (variable && number !== chooseVariable.selectedIndex) return; // another one was chosen in the meantime
    [variable, data] = [found, next];
    metrics = cells.metrics(variable, data.columns);
    chooseMetric.replaceChildren(...metrics.map(one => new Option(one.name, one.id)));
    const opening = metrics.find(one => one.id === before) ?? metricOfTab() ?? ["coverage", "spread"].map(wish => metrics.find(one => one.part === wish)).find(Boolean) ?? metrics[0];
    chooseMetric.value = opening.id;
    if (geouq.state().tab === undefined) openTab();
    values.replaceChildren(...metrics.map(one => element("tr", {}, element("th", {scope: "row"}, named(one)), ...[POINTED, CHOSEN, WHOLE].map(() => element("td")))));
    pointed = null;
    await useMetric();
    if (part.blocks && !part.blocks.some(has)) part = {region: home};
    choosePart.value = "region" in part ? part.region : "";
    await show();
    host.removeAttribute("aria-busy");
  }
  async function changeMetric(one) {
    chooseMetric.value = one.id;
    await useMetric();
  }
  async function useMetric() {
    const one = metric();
    await need(one.kind);
    if (one !== metric()) return;
    paint();
    tellPointed();
  }
  /** Show what the address says. */
  async function obey() {
    const wish = geouq.state(), number = layout.variables.findIndex(one => one.name === (wish.variable ?? section.dataset.first));
    const region = wish.part === undefined ? home : regions.names.indexOf(wish.part), box = wish.box?.split(",").map(Number), cell = Number(wish.cell ?? -1);
    chooseVariable.selectedIndex = Math.max(0, number);
    if (variable !== layout.variables[chooseVariable.selectedIndex]) await useVariable();
    else {
      const wanted = metrics.find(one => one.id === wish.metric) ?? metricOfTab();
      if (wanted && wanted !== metric()) await changeMetric(wanted);
      if (wish.tab === undefined) openTab();
    }
    if (box?.length === 4 && box.every(Number.isFinite)) chooseBox({left: box[0], bottom: box[1], right: box[2], top: box[3]}, false);
    else if (shownTiles.has(layout.names.indexOf(wish.tile))) {
      await chooseTile(layout.names.indexOf(wish.tile));
      section.scrollIntoView({block: "nearest"});
    }
    else if (map.holds(cell) && has(cell)) await chooseCell(cell, false);
    else await chooseRegion(region >= 0 ? region : home, false);
  }

  // Mouse, keys and buttons. What other metrics need is loaded when a reader comes near.
  for (const one of document.querySelectorAll(".overview section, .overview .card")) for (const kind of ["pointerenter", "focusin"]) one.addEventListener(kind, () => { if (data) need("sums"); });
  const at = event => {
    const edge = canvas.getBoundingClientRect();
    return back(event.clientX - edge.left, event.clientY - edge.top);
  };
  const boxOf = (a, b) => ({left: Math.min(a.x, b.x), right: Math.max(a.x, b.x), top: -Math.min(a.y, b.y), bottom: -Math.max(a.y, b.y)});
  const moves = () => section.querySelector("[data-press=move]").getAttribute("aria-pressed") === "true";
  canvas.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    drag = {start: at(event), view: {...view}, from: [event.clientX, event.clientY]};
    if (event.pointerType !== "touch" || moves()) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    const here = at(event);
    if (!drag) { point(map.blockAt(here.x, -here.y)); return; }
    const [dx, dy] = [event.clientX - drag.from[0], event.clientY - drag.from[1]];
    if (Math.hypot(dx, dy) < 4 && !drag.moved) return;
    drag.moved = true;
    if (moves()) Object.assign(view, {left: drag.view.left + dx, top: drag.view.top + dy});
    else if (event.pointerType !== "touch") drag.box = boxOf(drag.start, here);
    draw();
  });
  canvas.addEventListener("pointerup", event => {
    const one = drag, here = at(event);
    drag = null;
    if (one?.box) chooseBox(one.box);
    else if (one && !one.moved) {
      const block = map.blockAt(here.x, -here.y);
      if (has(block)) chooseCell(block);
      if (event.pointerType === "touch") tapped(block);
    }
    draw();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  /** Show the value of a cell that is touched, below the map and in view; it stays, as a finger points at nothing else. */
  function tapped(block) {
    point(block);
    section.querySelector(".readout").scrollIntoView({block: "nearest"});
  }
  canvas.addEventListener("pointerleave", ({pointerType}) => { if (pointerType !== "touch") point(-1); });
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const edge = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - edge.left, event.clientY - edge.top);
  }, {passive: false});
  function zoom(factor, x = view.wide / 2, y = view.high / 2) {
    const here = back(x, y);
    view.scale = Math.min(Math.max(view.scale * factor, 1e-4), 100);
    Object.assign(view, {left: x - here.x * view.scale, top: y - here.y * view.scale});
    draw();
  }
  function go([down, across]) {
    if (cursor === null) { cursor = pointed ?? map.every.find(has); return; }
    const {x, y} = map.place(cursor), next = map.blockAt(x + across * layout.size, y - down * layout.size);
    if (next >= 0) cursor = next;
  }
  function spanned(a, b) {
    const [one, other] = [map.place(a), map.place(b)];
    return {left: Math.min(one.left, other.left), right: Math.max(one.right, other.right), top: Math.max(one.top, other.top), bottom: Math.min(one.bottom, other.bottom)};
  }
  const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  host.addEventListener("keydown", event => {
    if (event.key in ARROWS) {
      anchor = event.shiftKey ? anchor ?? cursor : null;
      go(ARROWS[event.key]);
      point(cursor);
      if (anchor !== null) chooseBox(spanned(anchor, cursor));
      spoken.textContent = `${map.named(cursor)}: ${has(cursor) ? valueAt(cursor) : "no pixels"}`;
    } else if (event.key === "Enter" && has(cursor ?? -1)) chooseCell(cursor);
    else if (event.key === "Escape") {
      cursor = anchor = null;
      chooseRegion(home);
    } else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.5 : 1 / 1.5);
    else return;
    event.preventDefault();
  });
  const pressed = {
    all: () => chooseRegion(home), in: () => zoom(1.5), out: () => zoom(1 / 1.5), home: () => { fit(); draw(); },
    move: button => button.setAttribute("aria-pressed", !moves()),
  };
  for (const button of document.querySelectorAll("#map [data-press], #part [data-press]")) button.addEventListener("click", () => pressed[button.dataset.press](button));
  chooseVariable.addEventListener("change", () => { geouq.remember({variable: chooseVariable.value}); useVariable(); });
  chooseMetric.addEventListener("change", () => { geouq.remember({metric: chooseMetric.value}); useMetric(); openTab(); });
  for (const tab of tabs) tab.addEventListener("change", () => {
    const one = metricOfTab();
    if (!one || one === metric()) return;
    geouq.remember({metric: one.id});
    changeMetric(one);
  });
  choosePart.addEventListener("change", () => { if (choosePart.value) chooseRegion(Number(choosePart.value)); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  for (const [event, isPrinted] of [["beforeprint", true], ["afterprint", false]]) addEventListener(event, () => {
    document.documentElement.classList.toggle("on-paper", isPrinted); // a dark page is printed on white paper
    draw();
  });
  chooseVariable.replaceChildren(...layout.variables.map(one => new Option(one.name)));
  const offered = regions.names.map((name, k) => [name, k]).filter(([, k]) => !only || k === home || k === 0);
  choosePart.replaceChildren(...offered.map(([name, k]) => new Option(name, k)), new Option("cells", "", false, false));
  choosePart.lastChild.disabled = true;
  const coarse = layout.side > 1 ? `A cell of this map is a square of ${layout.side} by ${layout.side} cells, so that the pages stay small. ` : "";
  section.querySelector(".grain").textContent = coarse + [cuts && !hasCuts ? "" : layout.where, regions.note].filter(Boolean).join(" ");
  fit();
  await obey();
  fit(); // again, as the heading may have more lines now
  draw();
  function follow() {
    if (host.clientWidth === view.wide) return;
    fit();
    draw();
  }
  new ResizeObserver(follow).observe(host);
  addEventListener("hashchange", obey);
  section.dataset.ready = "";
  /** For programs that drive the page: where the middle of a block is, from the corner of the window. */
  const locate = block => {
    follow();
    const {x, y} = map.place(block), edge = canvas.getBoundingClientRect();
    return [edge.left + across(x), edge.top + down(-y)];
  };
  return {locate, numbersOfBlocks};
})();

// The map that one can ask: cells in the colours of a metric; a click or a box tells what just these cells say.
"use strict";
geouq.map = (async () => {
  const section = document.querySelector("#map");
  if (!section) return null;
  const {cells, charts, colours} = geouq, find = selector => section.querySelector(selector);
  const [chooseVariable, chooseMetric] = section.querySelectorAll("select");
  const host = find(".cells"), values = find(".values tbody");
  const POINTED = 1, CHOSEN = 2, ALL = 3; // columns of the table of numbers
  const layout = await geouq.load("layout", 0, 0), only = JSON.parse(section.dataset.map);
  layout.first = [0];
  layout.rows.forEach((rows, tile) => layout.first.push(layout.first[tile] + rows * layout.columns[tile]));
  const wanted = only && new Set(only), tiles = [...layout.names.keys()].filter(tile => !wanted || wanted.has(layout.names[tile]));
  const map = geouq.geometry(layout, tiles);
  let columns, metrics, variable, plot, diagrams;
  let selection = {blocks: map.every, box: null}, pointed = null, cursor = null, anchor = null;

  const has = block => block >= 0 && columns.n[block] > 0;
  const metric = () => metrics[chooseMetric.selectedIndex];
  /** The number of each block by the metric chosen; NaN where there is no pixel. */
  function numbersOfBlocks() {
    const found = new Float32Array(layout.first.at(-1)).fill(NaN), {of} = metric();
    for (const block of map.every) if (has(block)) found[block] = of(columns, block);
    return found;
  }

  function viewOf(frame) {
    const scale = 1.04 * Math.max(map.width / frame.frame_width, map.height / frame.frame_height);
    const reach = [scale * frame.frame_width / 2, scale * frame.frame_height / 2], middle = [map.width / 2, -map.height / 2];
    return {x: [middle[0] - reach[0], middle[0] + reach[0]], y: [middle[1] - reach[1], middle[1] + reach[1]]};
  }
  function rectangles(figure, line_color, line_width) {
    const source = charts.source({left: [], right: [], top: [], bottom: []});
    const sides = Object.fromEntries(["left", "right", "top", "bottom"].map(side => [side, {field: side}]));
    figure.quad({...sides, source, fill_color: null, line_color, line_width});
    return {show: one => { source.data = Object.fromEntries(Object.keys(sides).map(side => [side, one ? [one[side]] : []])); }};
  }
  function pictures(figure, source) {
    const fields = Object.fromEntries(["image", "x", "y", "dw", "dh"].map(name => [name, {field: name}]));
    return ["LinearColorMapper", "LogColorMapper"].map(kind => {
      const mapper = new Bokeh[kind]({palette: Bokeh.Palettes.Viridis256, low: 1, high: 2, nan_color: "rgba(0,0,0,0)"});
      return {mapper, shown: figure.image({...fields, source, origin: "top_left", color_mapper: mapper})};
    });
  }
  function listen(figure) {
    const tools = {pan: new Bokeh.PanTool(), box: new Bokeh.BoxSelectTool({renderers: []})};
    const wheel = new Bokeh.WheelZoomTool({modifiers: {ctrl: true}}), tap = new Bokeh.TapTool({renderers: []});
    figure.add_tools(tools.pan, tools.box, wheel, tap);
    figure.toolbar.setv({active_drag: tools.box, active_scroll: wheel, active_tap: tap});
    figure.on_event("mousemove", event => point(map.blockAt(event.x, event.y)));
    figure.on_event("mouseleave", () => point(-1));
    figure.on_event("tap", event => {
      const block = map.blockAt(event.x, event.y);
      if (has(block)) choose([block]);
    });
    figure.on_event("selectiongeometry", ({geometry, final}) => {
      if (final && geometry.type === "rect") chooseBox({left: geometry.x0, right: geometry.x1, top: geometry.y1, bottom: geometry.y0});
    });
    return tools;
  }
  async function drawMap() {
    const frame_width = Math.max(160, host.clientWidth - 110), fitting = frame_width * map.height / map.width;
    const frame = {frame_width, frame_height: Math.round(Math.min(560, Math.max(220, fitting)))}, home = viewOf(frame);
    const [x_range, y_range] = [charts.range(...home.x), charts.range(...home.y)];
    const figure = charts.figure({...frame, x_range, y_range, background_fill_color: charts.colour("panel")});
    for (const part of [...figure.axes, ...figure.grids]) part.visible = false;
    const source = charts.source({image: [], x: [], y: [], dw: [], dh: []}), layers = pictures(figure, source);
    const chosen = rectangles(figure, charts.colour("ink"), 2.5), under = rectangles(figure, charts.colour("soft"), 1.5);
    const ink = charts.colour("ink");
    const bar = new Bokeh.ColorBar({color_mapper: layers[0].mapper, width: 14, background_fill_color: charts.colour("paper"), major_label_text_color: ink, major_tick_line_color: ink});
    figure.add_layout(bar, "right");
    plot = {figure, layers, bar, source, chosen, under, home, tools: listen(figure)};
    plot.view = await charts.show(figure, host);
  }
  /** Show the metric chosen in its colours. */
  function paint() {
    const {raster} = map, found = numbersOfBlocks(), layer = plot.layers[metric().ratio ? 1 : 0];
    layer.mapper.setv(colours(metric(), found));
    for (const other of plot.layers) other.shown.visible = other === layer;
    const ticks = metric().ratio ? charts.ratioTicks(layer.mapper.low, layer.mapper.high) : {ticker: "auto", major_label_overrides: new Map()};
    plot.bar.setv({color_mapper: layer.mapper, ...ticks}); // together, as a bar looks at its ticks only when its colours change
    const numbers = Float32Array.from(raster.blocks, block => block < 0 ? NaN : found[block]);
    const image = Bokeh.require("core/util/ndarray").ndarray(numbers.buffer, {dtype: "float32", shape: [raster.rows, raster.columns]});
    const [dw, dh] = [raster.columns * raster.step, raster.rows * raster.step];
    plot.source.data = {image: [image], x: [0], y: [-dh], dw: [dw], dh: [dh]};
    find(".legend").textContent = cells.labelled(metric().name, metric().unit);
  }

  /** Choose the cells whose middles lie in a box. */
  function chooseBox(box) {
    const blocks = map.every.filter(block => {
      const {x, y} = map.place(block);
      return has(block) && x >= box.left && x <= box.right && y >= box.bottom && y <= box.top;
    });
    if (blocks.length) choose(blocks, box);
  }
  function choose(blocks, box = null) {
    selection = {blocks, box};
    const all = blocks === map.every, count = blocks.filter(has).length;
    plot.chosen.show(all ? null : box ?? map.place(blocks[0]));
    find(".chosen").textContent = all ? `all ${geouq.thousands(count)} cells` : count === 1 ? map.named(blocks[0]) : `${geouq.thousands(count)} cells`;
    const sums = cells.total(columns, blocks);
    if (sums.n[0] > 0) diagrams.update(sums);
    tell(CHOSEN, sums);
    spell(sums);
  }
  function point(block) {
    const found = has(block) ? block : null;
    if (found === pointed) return;
    pointed = found;
    plot.under.show(found === null ? null : map.place(found));
    find(".pointed").textContent = found === null ? "" : map.named(found);
    tell(POINTED, found === null ? null : columns, found);
  }
  function tell(column, sums, block = 0) {
    metrics.forEach((one, k) => {
      const cell = values.rows[k].cells[column], value = sums ? one.of(sums, block) : null;
      cell.textContent = !sums ? "" : one.id === "n" ? geouq.thousands(value) : geouq.people(value);
      cell.dataset.value = value ?? "";
    });
  }
  /** The numbers of the diagrams, for those who cannot see them, and for copying. */
  function spell(sums) {
    if (!find(".numbers")) return;
    const line = numbers => geouq.element("tr", {}, ...numbers.map(number => {
      const cell = geouq.element("td", {}, geouq.people(number));
      cell.dataset.value = number;
      return cell;
    }));
    const [reliability, curves] = section.querySelectorAll(".numbers tbody"), pit = cells.pit(sums);
    reliability.replaceChildren(...cells.reliability(sums).map((bin, k) => line([k + 1, bin.share, bin.predicted, bin.observed])));
    curves.replaceChildren(...[...cells.calibration(sums), [1, 1]].map(([level, share], k) => line([level, share, pit[k]])));
  }

  async function useVariable() {
    const number = chooseVariable.selectedIndex, before = chooseMetric.value, {element} = geouq;
    host.setAttribute("aria-busy", "true");
    variable = layout.variables[number];
    columns = await cells.load(layout, number, tiles);
    metrics = cells.metrics(variable);
    chooseMetric.replaceChildren(...metrics.map(one => new Option(one.name, one.id, false, one.id === before)));
    values.replaceChildren(...metrics.map(one => element("tr", {}, element("th", {scope: "row"}, cells.labelled(one.name, one.unit)), ...[POINTED, CHOSEN, ALL].map(() => element("td")))));
    await draw();
    host.removeAttribute("aria-busy");
  }
  async function draw() {
    const all = cells.total(columns, map.every);
    await drawMap();
    const places = [...section.querySelectorAll(".chart")]; // none where there is no variance
    diagrams = places.length ? await charts.charts(places, variable, all) : {update: () => {}};
    paint();
    tell(ALL, all);
    pointed = undefined;
    point(-1);
    choose(selection.blocks, selection.box);
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
  function byKey(event) {
    if (event.key in ARROWS) {
      anchor = event.shiftKey ? anchor ?? cursor : null;
      go(ARROWS[event.key]);
      point(cursor);
      if (anchor !== null) chooseBox(spanned(anchor, cursor));
      const told = has(cursor) ? `${metric().name} ${geouq.people(metric().of(columns, cursor))}` : "no pixels";
      find(".spoken").textContent = `${map.named(cursor)}: ${told}`;
    } else if (event.key === "Enter" && has(cursor ?? -1)) choose([cursor]);
    else if (event.key === "Escape") {
      cursor = anchor = null;
      choose(map.every);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function zoom(factor) {
    for (const range of [plot.figure.x_range, plot.figure.y_range]) {
      const middle = (range.start + range.end) / 2, half = (range.end - range.start) / 2 * factor;
      range.setv({start: middle - half, end: middle + half});
    }
  }
  const pressed = {
    all: () => choose(map.every),
    in: () => zoom(0.5),
    out: () => zoom(2),
    home: () => [plot.figure.x_range, plot.figure.y_range].forEach((range, k) => {
      const [start, end] = k ? plot.home.y : plot.home.x;
      range.setv({start, end});
    }),
    move: button => {
      const moves = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", moves);
      plot.figure.toolbar.active_drag = moves ? plot.tools.pan : plot.tools.box;
    },
  };
  function again() {
    find("[data-press=move]").setAttribute("aria-pressed", "false");
    return draw();
  }

  for (const button of section.querySelectorAll(".controls button")) button.addEventListener("click", () => pressed[button.dataset.press](button));
  chooseVariable.addEventListener("change", useVariable);
  chooseMetric.addEventListener("change", paint);
  host.addEventListener("keydown", byKey, {capture: true});
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let resizing, width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(resizing);
    resizing = setTimeout(again, 200);
  });
  chooseVariable.replaceChildren(...layout.variables.map(one => new Option(one.name)));
  const coarse = layout.side > 1 ? `A cell of this map is a square of ${layout.side} by ${layout.side} cells, so that the pages stay small. ` : "";
  find(".grain").textContent = coarse + layout.where;
  await useVariable();
  section.dataset.ready = "";
  /** For programs that drive the page: where the middle of a block is, from the corner of the window. */
  const locate = block => {
    const {x, y} = map.place(block), {frame} = plot.view, edge = host.firstElementChild.getBoundingClientRect();
    return [edge.left + frame.bbox.left + frame.x_scale.compute(x), edge.top + frame.bbox.top + frame.y_scale.compute(y)];
  };
  return {locate, numbersOfBlocks, limits: () => plot.bar.color_mapper.attributes};
})();

// Reliability diagram, calibration curve and PIT histogram of some cells beside those of all.
"use strict";
geouq.charts = (() => {
  Bokeh.set_log_level("warn");
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  /** A figure in the colours of the page, without a toolbar. */
  function figure(options) {
    const made = Bokeh.Plotting.figure({toolbar_location: null, tools: "", background_fill_color: colour("paper"), border_fill_color: colour("paper"), outline_line_color: colour("faint"), min_border_right: 16, ...options});
    for (const axis of made.axes) axis.setv({axis_label_text_color: colour("ink"), major_label_text_color: colour("ink"), axis_line_color: colour("soft"), major_tick_line_color: colour("soft"), minor_tick_line_color: null, axis_label_text_font_style: "normal"});
    for (const grid of made.grids) grid.grid_line_color = colour("faint");
    return made;
  }
  const MANTISSAS = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
  /** Round numbers all along a scale of ratios; Bokeh's own, over less than two decades, crowd at its upper end. */
  function ratioSteps(low, high) {
    const first = Math.floor(Math.log10(low)), count = Math.ceil(Math.log10(high)) - first + 1;
    let steps = [];
    for (const mantissas of MANTISSAS) {
      steps = Array.from({length: count}, (_, k) => mantissas.map(m => Number(`${m}e${first + k}`))).flat().filter(step => step >= low && step <= high);
      if (steps.length >= 4) break;
    }
    return steps.filter((_, k) => k % Math.ceil(steps.length / 8) === 0);
  }
  /** Where the labels of a scale of ratios stand, and what they say, for an axis or a bar of colours. */
  function ratioTicks(low, high) {
    const ticks = ratioSteps(low, high);
    return {ticker: new Bokeh.FixedTicker({ticks}), major_label_overrides: new Map(ticks.map(tick => [tick, geouq.people(tick)]))};
  }
  const views = new Map();
  async function show(made, place) {
    place.replaceChildren();
    views.set(place, await Bokeh.Plotting.show(made, place));
    return views.get(place);
  }
  // On paper a picture of each figure fits its column: the figure itself keeps the width that it has on the screen.
  addEventListener("beforeprint", () => {
    for (const [place, view] of views) {
      const {canvas} = view.export("png");
      canvas.className = "printed";
      canvas.removeAttribute("style");
      place.prepend(canvas);
    }
  });
  addEventListener("afterprint", () => document.querySelectorAll(".printed").forEach(picture => picture.remove()));
  const source = data => new Bokeh.ColumnDataSource({data});
  const range = (start, end) => new Bokeh.Range1d({start, end});
  const SIZE = {height: 300, sizing_mode: "stretch_width"};
  function diagonal(chart, ends) {
    const data = source({x: ends, y: ends});
    chart.line({x: {field: "x"}, y: {field: "y"}, source: data, line_color: colour("ideal"), line_width: 1.5, line_dash: "dashed"});
    return data;
  }
  /** The three charts of a variable in three places; `update` shows the sums of a selection. */
  async function charts(places, variable, all) {
    const drawn = [reliability(variable, all), calibration(all), pit(all)];
    await Promise.all(drawn.map((chart, k) => show(chart.figure, places[k])));
    return {update: sums => { for (const chart of drawn) chart.update(sums); }};
  }
  function lineOf(chart, points, name, more = {}) {
    const data = source(points);
    chart.line({x: {field: "x"}, y: {field: "y"}, source: data, line_color: colour(name), line_width: 1.5, ...more});
    chart.scatter({x: {field: "x"}, y: {field: "y"}, source: data, line_color: colour(name), fill_color: colour(name), size: name === "data" ? 6 : 3});
    return data;
  }
  function reliability(variable, all) {
    const points = sums => {
      const used = geouq.cells.reliability(sums).filter(bin => bin.share > 0);
      return {x: used.map(bin => bin.predicted), y: used.map(bin => bin.observed)};
    };
    const whole = points(all), values = [...whole.x, ...whole.y].filter(value => value > 0);
    const log = Math.max(...values) > 10 * Math.min(...values), kind = log ? "log" : "linear";
    const limits = shown => {
      const both = [...values, ...shown.x, ...shown.y].filter(value => value > 0), low = Math.min(...both), high = Math.max(...both);
      return log ? [low / 1.6, high * 1.6] : [0, high * 1.1];
    };
    const unit = geouq.cells.squared(variable.units), ranges = [range(...limits(whole)), range(...limits(whole))];
    const chart = figure({...SIZE, x_axis_type: kind, y_axis_type: kind, x_range: ranges[0], y_range: ranges[1], x_axis_label: geouq.cells.labelled("mean predicted variance", unit), y_axis_label: geouq.cells.labelled("mean squared error", unit)});
    const ideal = diagonal(chart, limits(whole)), step = ends => {
      if (!log) return;
      const ticks = ratioTicks(...ends);
      for (const axis of chart.axes) axis.setv(ticks);
      for (const grid of chart.grids) grid.ticker = ticks.ticker;
    };
    step(limits(whole));
    lineOf(chart, whole, "whole");
    const data = lineOf(chart, whole, "data");
    return {figure: chart, update(sums) {
      data.data = points(sums);
      const [start, end] = limits(data.data);
      ideal.data = {x: [start, end], y: [start, end]};
      for (const one of ranges) one.setv({start, end});
      step([start, end]);
    }};
  }
  function calibration(all) {
    const points = sums => {
      const curve = [[0, 0], ...geouq.cells.calibration(sums), [1, 1]];
      return {x: curve.map(point => point[0]), y: curve.map(point => point[1])};
    };
    const chart = figure({...SIZE, x_range: range(0, 1), y_range: range(0, 1), x_axis_label: "predicted quantile", y_axis_label: "share of the truth below it"});
    diagonal(chart, [0, 1]);
    lineOf(chart, points(all), "whole");
    const data = lineOf(chart, points(all), "data");
    return {figure: chart, update(sums) { data.data = points(sums); }};
  }
  function pit(all) {
    const points = sums => {
      const top = geouq.cells.pit(sums);
      return {top, left: top.map((_, k) => k / top.length), right: top.map((_, k) => (k + 1) / top.length), middle: top.map((_, k) => (k + 0.5) / top.length), bottom: top.map(() => 0)};
    };
    const whole = points(all), height = range(0, 1.1 * Math.max(1.2, ...whole.top)), data = source(whole);
    const chart = figure({...SIZE, x_range: range(0, 1), y_range: height, x_axis_label: "PIT of the truth", y_axis_label: "density"});
    chart.quad({left: {field: "left"}, right: {field: "right"}, bottom: {field: "bottom"}, top: {field: "top"}, source: data, fill_color: colour("data"), line_color: colour("paper")});
    chart.line({x: [0, 1], y: [1, 1], line_color: colour("ideal"), line_width: 1.5, line_dash: "dashed"});
    chart.scatter({x: {field: "middle"}, y: {field: "top"}, source: source(whole), fill_color: colour("whole"), line_color: colour("paper"), size: 6});
    return {figure: chart, update(sums) {
      data.data = points(sums);
      height.end = 1.1 * Math.max(1.2, ...whole.top, ...data.data.top);
    }};
  }
  return {charts, figure, show, source, range, colour, ratioTicks};
})();

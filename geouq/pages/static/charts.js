// Reliability diagram, calibration curve and PIT histogram of a part and of the whole, as SVG.
"use strict";
geouq.charts = (() => {
  const WIDTH = 280, HEIGHT = 236, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 36, CAP = 4, DIGIT = 8; // DIGIT: room of a letter
  const make = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const MANTISSAS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
  /** Round numbers all along a logarithmic axis, at most six. */
  function ratioTicks(low, high) {
    const first = Math.floor(Math.log10(low)), count = Math.ceil(Math.log10(high)) - first + 1;
    let steps = [];
    for (const mantissas of MANTISSAS) {
      steps = Array.from({length: count}, (_, k) => mantissas.map(m => Number(`${m}e${first + k}`))).flat().filter(step => step >= low && step <= high);
      if (steps.length >= 3) break;
    }
    return steps.filter((_, k) => k % Math.ceil(steps.length / 6) === 0);
  }
  function evenTicks(low, high) {
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(size => size >= rough * 0.999);
    return Array.from({length: Math.floor((high - low) / step + 1e-9) + 1}, (_, k) => low + k * step);
  }
  const linear = (low, high) => ({low, high, ticks: evenTicks(low, high), share: value => (value - low) / (high - low)});
  const ratio = (low, high) => ({low, high, ticks: ratioTicks(low, high), share: value => value > 0 ? Math.log(value / low) / Math.log(high / low) : 0});
  /** A short label of a tick, as in the small diagrams: 30k, 2M, 1×10⁻⁶. */
  function brief(tick) {
    const far = Math.abs(tick), [size, letter] = far >= 1e9 || far < 1e4 ? [1, ""] : far < 1e6 ? [1e3, "k"] : [1e6, "M"];
    return geouq.people(tick / size).replace(/\.?0+(?=\s×)/, "").replaceAll("\u00a0", "") + letter;
  }
  const labelsOf = axis => axis.names ?? axis.ticks.map(brief);
  /** An axis of shares, with labels in per cent. */
  const shares = {...linear(0, 1), ticks: [0, 0.25, 0.5, 0.75, 1], names: ["0", "25", "50", "75", "100"]};
  /** An empty diagram: where points lie, and a picture with axes. */
  function frame(x, y, labels) {
    const clip = value => Math.min(1, Math.max(0, value)), left = Math.max(LEFT, ...labelsOf(y).map(text => 6 + text.length * DIGIT)), wide = WIDTH - left - RIGHT, high = HEIGHT - TOP - BOTTOM;
    const across = value => (left + wide * clip(x.share(value))).toFixed(1), up = value => (TOP + high * (1 - clip(y.share(value)))).toFixed(1);
    const svg = make("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": true});
    const names = labelsOf(x);
    for (const [k, tick] of x.ticks.entries()) {
      const text = names[k], isCut = Number(across(tick)) + text.length * DIGIT / 2 > WIDTH; // it would lie beyond the picture
      svg.append(make("path", {class: "grid", d: `M${across(tick)} ${TOP}V${TOP + high}`}), make("text", {x: isCut ? WIDTH : across(tick), y: TOP + high + 14, "text-anchor": isCut ? "end" : "middle"}, text));
    }
    for (const [k, tick] of y.ticks.entries()) {
      svg.append(make("path", {class: "grid", d: `M${left} ${up(tick)}H${left + wide}`}), make("text", {x: left - 4, y: Number(up(tick)) + 4, "text-anchor": "end"}, labelsOf(y)[k]));
    }
    svg.append(make("rect", {class: "frame", x: left, y: TOP, width: wide, height: high}));
    svg.append(make("text", {x: left + wide / 2, y: HEIGHT - 5, "text-anchor": "middle"}, labels[0]));
    const path = (points, kind) => points.length && svg.append(make("path", {class: kind, d: `M${points.map(([a, b]) => `${across(a)} ${up(b)}`).join("L")}`}));
    return {svg, across, up, path};
  }
  /** Neighbours with limits, in a run for each piece of the band. */
  function runs(points) {
    const found = [[]];
    for (const point of points) point.length > 2 ? found.at(-1).push(point) : found.push([]);
    return found.filter(run => run.length);
  }
  /** A piece of the band; of a single point an error bar. */
  function banded({svg, across, up}, run, kind) {
    const [[x, , low, high]] = run, left = Number(across(x)) - CAP;
    const edge = [...run.map(([a, , , high]) => [a, high]), ...run.map(([a, , low]) => [a, low]).reverse()];
    const bar = {class: `limits ${kind}`, d: `M${left} ${up(low)}h${2 * CAP}m${-CAP} 0V${up(high)}m${-CAP} 0h${2 * CAP}`};
    const area = {class: `band ${kind}`, d: `M${edge.map(([a, b]) => `${across(a)} ${up(b)}`).join("L")}Z`};
    svg.append(make("path", run.length === 1 ? bar : area));
  }
  function line(drawn, points, kind) {
    const {svg, across, up, path} = drawn;
    for (const run of runs(points)) banded(drawn, run, kind);
    path(points, kind);
    if (kind === "own") for (const [a, b] of points) svg.append(make("circle", {cx: across(a), cy: up(b), r: 2.6}));
  }
  function reliability(own, whole, units) {
    const values = [...own, ...whole].flatMap(([a, b]) => [a, b]).filter(value => value > 0);
    if (!values.length) return null;
    const low = Math.min(...values), high = Math.max(...values);
    const axis = high > 8 * low ? ratio(low / 1.4, high * 1.4) : linear(0, high * 1.05);
    const drawn = frame(axis, axis, [geouq.cells.labelled("mean predicted variance", geouq.cells.squared(units))]);
    drawn.path([[axis.low, axis.low], [axis.high, axis.high]], "ideal");
    line(drawn, whole, "whole");
    line(drawn, own, "own");
    return drawn.svg;
  }
  function calibration(own, whole) {
    if (!own.length) return null;
    const drawn = frame(shares, shares, ["predicted quantile, %"]);
    drawn.path([[0, 0], [1, 1]], "ideal");
    line(drawn, whole, "whole");
    line(drawn, own, "own");
    return drawn.svg;
  }
  function pit(own, whole, halfWidth, halfOfWhole) {
    if (!own.length) return null;
    const top = 1.1 * Math.max(1.2, ...own, ...whole, 1 + Math.min(halfWidth ?? 0, 1), 1 + Math.min(halfOfWhole ?? 0, 1));
    const drawn = frame({...linear(0, 1), ticks: [0, 0.25, 0.5, 0.75, 1]}, linear(0, top), ["PIT of the truth"]), {svg, across, up} = drawn;
    const stairs = heights => heights.flatMap((height, k) => [[k / heights.length, height], [(k + 1) / heights.length, height]]);
    for (const [half, kind] of [[halfOfWhole, "whole"], [halfWidth, "own"]]) {
      if (half !== null) svg.append(make("rect", {class: `chance ${kind}`, x: across(0), y: up(1 + half), width: across(1) - across(0), height: up(1 - half) - up(1 + half)}));
    }
    drawn.path([[0, 1], [1, 1]], "ideal");
    drawn.path(stairs(whole), "whole");
    drawn.path(stairs(own), "own");
    return svg;
  }
  /** Draw the diagrams of a part in three places; `whole` is null where the part is the whole. */
  function draw(places, own, whole, units) {
    const other = whole ?? {reliability: [], calibration: [], pit: [], halfWidth: null};
    const drawn = [reliability(own.reliability, other.reliability, units), calibration(own.calibration, other.calibration), pit(own.pit, other.pit, own.halfWidth, other.halfWidth)];
    drawn.forEach((svg, k) => places[k].replaceChildren(svg ?? "no pixels"));
  }
  return {draw, frame, line, linear, make, ratioTicks, shares};
})();

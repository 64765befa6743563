// Colours for the numbers of cells: blue and orange around an ideal, as in the tables, or from dark to bright.
"use strict";
geouq.colours = (() => {
  const STOPS = ["#08306b", "#3182bd", "#a6cee3", "#f2f2f2", "#fdbf85", "#e6701a", "#7f2704"];
  const COUNT = 255, ENDS = 0.02; // share of the cells at either end that have the last colour
  const part = (colour, k) => parseInt(colour.slice(k, k + 2), 16);
  const mixed = (a, b, share) => `#${[1, 3, 5].map(k => Math.round(part(a, k) * (1 - share) + part(b, k) * share).toString(16).padStart(2, "0")).join("")}`;
  const around = Array.from({length: COUNT}, (_, k) => {
    const position = k / (COUNT - 1) * (STOPS.length - 1), stop = Math.min(Math.floor(position), STOPS.length - 2);
    return mixed(STOPS[stop], STOPS[stop + 1], position - stop);
  });
  /** Palette and limits for the numbers of the cells by a metric; on a scale of ratios where it has one. */
  return (metric, numbers) => {
    const sorted = numbers.filter(Number.isFinite).sort();
    const quantile = share => sorted.length ? sorted[Math.round(share * (sorted.length - 1))] : 0;
    let low = quantile(ENDS), high = quantile(1 - ENDS);
    if (metric.ideal === undefined) return {palette: Bokeh.Palettes.Viridis256, low, high: high > low ? high : low + 1};
    if (metric.ratio) {
      const factor = Math.max(1.25, high / metric.ideal, low > 0 ? metric.ideal / low : 1);
      [low, high] = [metric.ideal / factor, metric.ideal * factor];
    } else {
      const reach = Math.max(Math.abs(low - metric.ideal), Math.abs(high - metric.ideal)) || 1;
      [low, high] = [metric.ideal - reach, metric.ideal + reach];
    }
    return {palette: metric.less ? [...around].reverse() : around, low, high};
  };
})();

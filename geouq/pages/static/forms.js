// Diagrams of forecasts without a variance, of a part and of the whole: quantiles and intervals, or each class.
"use strict";
geouq.forms = (() => {
  const {element, padded, people} = geouq, {frame, line, linear, make, shares} = geouq.charts;
  /** Points by the name of the curve, from the sums of some cells. */
  function curves(total, {shares: {levels, classes, bins}}) {
    const weight = total.weight[0], sum = name => total[name][0];
    if (levels) return {shares: [["quantiles", levels.map((level, k) => [level, Math.min(Math.max(level, sum(`below_${k}`) / weight), sum(`at_most_${k}`) / weight)])]]};
    return {shares: classes.map((name, c) => [name, Array.from({length: bins}, (_, b) => [sum(`class_n_${c}_${b}`), sum(`class_p_${c}_${b}`), sum(`class_hit_${c}_${b}`)]).filter(([n]) => n > 0).map(([n, p, hit]) => [p / n, hit / n])])};
  }
  const inPercent = points => points.map(([a, b]) => [100 * a, 100 * b]);
  const pointsOf = (part, name) => part?.shares?.find(([own]) => own === name)?.[1] ?? [];
  /** A curve on the square of shares, with the line on which both agree. */
  function square(own, whole, label) {
    const drawn = frame(shares, shares, [label]);
    drawn.path([[0, 0], [1, 1]], "ideal");
    for (const [points, kind] of [[whole, "whole"], [own, "own"]]) line(drawn, points, kind);
    return drawn.svg;
  }
  /** Density of the truth between neighbouring quantiles, relative to that of a calibrated forecast. */
  function density(points) {
    const ends = [[0, 0], ...[...points].sort((a, b) => a[0] - b[0]), [1, 1]];
    return ends.slice(1).map(([level, share], k) => [ends[k][0], level, (share - ends[k][1]) / (level - ends[k][0])]);
  }
  function between(own, whole) {
    const steps = [density(own), whole.length ? density(whole) : []], top = 1.1 * Math.max(1.2, ...steps.flat().map(([, , height]) => height));
    const drawn = frame(shares, linear(0, top), ["level of a quantile, %"]);
    drawn.path([[0, 1], [1, 1]], "ideal");
    for (const [some, kind] of [[steps[1], "whole"], [steps[0], "own"]]) drawn.path(some.flatMap(([a, b, height]) => [[a, height], [b, height]]), kind);
    return drawn.svg;
  }
  /** Numbers side by side with error bars: one for each name, of the part above and of the whole below. */
  function beside(names, own, whole, label) {
    const ends = [own, whole].flat(2).filter(Number.isFinite), far = 1.1 * Math.max(0.01, ...ends.map(Math.abs));
    const y = {low: 0, high: names.length, ticks: names.map((_, k) => names.length - k - 0.5), names: names.map(name => name.length > 12 ? `${name.slice(0, 11)}\u2026` : name), share: value => value / names.length};
    const power = 10 ** Math.floor(Math.log10(far)), step = [5, 2, 1].map(m => m * power).find(size => size <= far);
    const drawn = frame({...linear(-far, far), ticks: [-step, 0, step], names: [-step, 0, step].map(tick => people(100 * tick))}, y, [label]), {svg, across, up} = drawn;
    drawn.path([[0, 0], [0, names.length]], "ideal");
    for (const [some, kind, shift] of [[whole, "whole", -0.16], [own, "own", 0.12]]) some.forEach((one, k) => {
      if (!one || !Number.isFinite(one[0])) return;
      const [value, low, high] = one, place = up(y.ticks[k] + shift);
      if (low !== undefined) svg.append(make("path", {class: `limits ${kind}`, d: `M${across(low)} ${place}H${across(high)}`}));
      svg.append(make("circle", {class: kind, cx: across(value), cy: place, r: 3}));
    });
    return svg;
  }
  const ofMetric = (metrics, of) => metrics.map((one, k) => [one, k]).filter(([one]) => one.of === of);
  function ofQuantiles(own, whole, {metrics, numbers, numbersOfWhole}) {
    const [points, others] = [own, whole].map(part => pointsOf(part, "quantiles"));
    const pairs = ofMetric(metrics, "coverage"), level = ({id}) => Number(id.split("_").at(-1)) / 100;
    const covered = some => pairs.filter(([, k]) => some?.[k]).map(([one, k]) => [level(one), ...some[k]]).sort((a, b) => a[0] - b[0]);
    const found = [
      ["Calibration: share of the truth at most a quantile", square(points, others, "level of a quantile, %"), ["level, %", "share, %"], inPercent(points)],
      ["Between quantiles: density of the truth, 1 where calibrated", between(points, others), ["up to, %", "density"], density(points).map(([, level, height]) => [100 * level, height])],
    ];
    const own3 = covered(numbers);
    if (own3.length) found.push(["Coverage: share of the truth inside intervals", square(own3, covered(numbersOfWhole), "level of an interval, %"), ["level, %", "coverage, %"], inPercent(own3)]);
    return found;
  }
  function ofClasses(own, whole, {metrics, numbers, numbersOfWhole}, {classes, of}) {
    const shares = ofMetric(metrics, "share_bias"), names = shares.map(([{id}]) => id.replace("share_bias_", ""));
    const [biases, others] = [numbers, numbersOfWhole].map(some => shares.map(([, k]) => some?.[k]));
    const found = names.length ? [["Share of each class: predicted less observed", beside(names, biases, others, "percentage points"), ["class", "difference, percentage points"], names.map((name, k) => [name, 100 * biases[k]?.[0]])]] : [];
    const more = of > classes.length ? ` (first ${classes.length} of ${of} classes)` : "";
    for (const name of classes) {
      const points = pointsOf(own, name);
      found.push([`Reliability of ${name}: how often it is the true class${more}`, square(points, pointsOf(whole, name), "predicted probability, %"), ["probability, %", "share, %"], inPercent(points)]);
    }
    return found;
  }
  function table([caption, , heads, rows]) {
    const columns = heads.map((_, k) => padded(rows.map(row => typeof row[k] === "string" ? row[k] : people(row[k]))));
    const cells = row => heads.map((_, k) => {
      const cell = element("td", {}, columns[k][row]);
      if (typeof rows[row][k] !== "string") cell.dataset.value = rows[row][k];
      return cell;
    });
    return element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads.map(head => element("th", {scope: "col"}, head)))), element("tbody", {}, ...rows.map((_, row) => element("tr", {}, ...cells(row)))));
  }
  /** Draw the diagrams of a part, and write their numbers; `whole` is null where the part is the whole. */
  function draw(panel, own, whole, variable, values) {
    const found = variable.shares.levels ? ofQuantiles(own, whole, values) : ofClasses(own, whole, values, variable.shares);
    panel.querySelector(".charts").replaceChildren(...found.map(([caption, svg]) => {
      const chart = element("div", {className: "chart"}, svg);
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", `${caption}; its numbers are in the table below`);
      return element("figure", {}, element("figcaption", {}, caption), chart);
    }));
    panel.querySelector(".numbers .pair").replaceChildren(...found.map(table));
  }
  return {curves, draw};
})();

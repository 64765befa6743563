// Sums of cells: loaded variable by variable, added up, and made into numbers and curves. Nothing here draws.
"use strict";
geouq.cells = (() => {
  const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array};
  async function unpacked(packed) {
    const bytes = Uint8Array.from(atob(packed.data), letter => letter.charCodeAt(0));
    const buffer = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    const found = {};
    let start = 0;
    for (const [name, type] of packed.columns) {
      const stop = start + packed.count * ARRAYS[type].BYTES_PER_ELEMENT;
      found[name] = new ARRAYS[type](buffer.slice(start, stop));
      start = stop;
    }
    return found;
  }
  /** Sums as functions take them: arrays over blocks, those of PIT and of bins in lists. */
  function grouped(columns) {
    const names = Object.keys(columns), listed = start => names.filter(name => name.startsWith(start)).map(name => columns[name]);
    const bins = {n: listed("n_"), variance: listed("variance_"), squared_error: listed("squared_error_")};
    return {...columns, weight: columns.weight ?? columns.n, pit: listed("pit_"), bins};
  }
  /** The sums of one variable of some tiles over the blocks of all tiles; those of other tiles may stay empty. */
  async function load(layout, number, tiles) {
    const {rows} = layout.variables[number], parts = new Set(), columns = {};
    for (const tile of tiles) {
      for (let part = Math.floor(layout.first[tile] / rows); part * rows < layout.first[tile + 1]; part++) parts.add(part);
    }
    await Promise.all([...parts].map(async part => {
      for (const [name, column] of Object.entries(await unpacked(await geouq.load("cells", number, part)))) {
        (columns[name] ??= new Float64Array(layout.first.at(-1))).set(column, part * rows);
      }
    }));
    return grouped(columns);
  }
  /** The sums of some blocks together, as those of one block, 0. */
  function total(sums, blocks) {
    const add = column => {
      let sum = 0;
      for (const block of blocks) sum += column[block];
      return Float64Array.of(sum);
    };
    const added = part => part instanceof Float64Array ? add(part) : Array.isArray(part) ? part.map(add) : Object.fromEntries(Object.entries(part).map(([name, value]) => [name, added(value)]));
    return added(sums);
  }
  /** Mean variance, mean squared error and share of the pixels of each bin of predicted variance. */
  const reliability = ({bins, weight}, block = 0) => bins.n.map(({[block]: n}, k) => ({
    predicted: n > 0 ? bins.variance[k][block] / n : NaN,
    observed: n > 0 ? bins.squared_error[k][block] / n : NaN,
    share: n / weight[block],
  }));
  const pit = (sums, block = 0) => sums.pit.map(column => sums.pit.length * column[block] / sums.weight[block]);
  /** Share of the truth at or below the predicted quantile of each level 1/20, 2/20 ... 19/20. */
  function calibration(sums, block = 0) {
    let below = 0;
    return sums.pit.slice(0, -1).map((column, k) => [(k + 1) / sums.pit.length, (below += column[block]) / sums.weight[block]]);
  }
  const mean = name => (sums, block = 0) => sums[name][block] / sums.weight[block];
  const root = name => (sums, block = 0) => Math.sqrt(sums[name][block] / sums.weight[block]);
  function uce({bins, weight}, block = 0) {
    let gap = 0;
    for (let k = 0; k < bins.n.length; k++) gap += Math.abs(bins.variance[k][block] - bins.squared_error[k][block]);
    return gap / weight[block];
  }
  function ence({bins}, block = 0) {
    let gap = 0, used = 0;
    for (let k = 0; k < bins.n.length; k++) {
      if (!(bins.n[k][block] > 0)) continue;
      gap += Math.abs(1 - Math.sqrt(bins.squared_error[k][block] / bins.variance[k][block]));
      used += 1;
    }
    return gap / used;
  }
  const pixels = {id: "n", name: "pixels", unit: "1", of: ({n}, block = 0) => n[block]};
  /** What the map can show: `ideal` is where two colours meet, on a scale of ratios where `ratio`; more is orange unless `less`. */
  const metrics = variable => Object.keys(variable.means).length ? [
    ...Object.entries(variable.means).map(([id, {name, unit, ideal, less}]) => ({id, name, unit, of: mean(id), ideal: ideal ?? undefined, less})),
    pixels,
  ] : [
    {id: "zms", name: "mean z²", unit: "1", of: mean("z_square"), ideal: 1, ratio: true},
    {id: "coverage", name: `coverage of ${+(100 * variable.level).toFixed(6)} %`, unit: "1", of: mean("covered"), ideal: variable.level, less: true},
    {id: "bias", name: "bias", unit: variable.units, of: mean("error"), ideal: 0},
    {id: "rmse", name: "RMSE", unit: variable.units, of: root("squared_error")},
    {id: "rmv", name: "RMV, root mean variance", unit: variable.units, of: root("variance")},
    {id: "crps", name: "CRPS", unit: variable.units, of: mean("crps")},
    {id: "uce", name: "UCE", unit: squared(variable.units), of: uce},
    {id: "ence", name: "ENCE", unit: "1", of: ence},
    pixels,
  ];
  const squared = units => !units || units === "1" ? units : /^(\p{L}+|%)$/u.test(units) ? `${units}²` : `(${units})²`;
  const labelled = (text, unit) => unit && unit !== "1" ? `${text}, ${unit}` : text;
  return {load, total, metrics, reliability, pit, calibration, squared, labelled};
})();

// Sums of cells: loaded variable by variable, added up, and made into numbers and curves. Nothing here draws.
"use strict";
geouq.cells = (() => {
  const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array};
  const PIT_BINS = 20;
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
  /** The sums of one variable of some tiles: columns by name over the blocks of all tiles; other tiles stay empty. */
  async function load(layout, number, tiles) {
    const {rows} = layout.variables[number], wanted = new Set();
    for (const tile of tiles) for (let part = Math.floor(layout.first[tile] / rows); part * rows < layout.first[tile + 1]; part++) wanted.add(part);
    const parts = await Promise.all([...wanted].map(async part => [part, await unpacked(await geouq.load("cells", number, part))]));
    const columns = {};
    for (const [part, found] of parts) for (const [name, column] of Object.entries(found)) (columns[name] ??= new Float64Array(layout.first.at(-1))).set(column, part * rows);
    columns.weight ??= columns.n;
    return columns;
  }
  const bins = columns => Object.keys(columns).filter(name => name.startsWith("variance_")).length;
  /** Sums of some blocks; numbers and curves are functions of such sums, of which one block is the least. */
  const total = (columns, blocks) => Object.fromEntries(Object.entries(columns).map(([name, column]) => {
    let sum = 0;
    for (const block of blocks) sum += column[block];
    return [name, sum];
  }));
  const at = (columns, block) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[block]]));
  /** Mean variance, mean squared error and share of the pixels of each bin of predicted variance. */
  const reliability = sums => Array.from({length: bins(sums)}, (_, k) => {
    const n = sums[`n_${k}`];
    return {predicted: n > 0 ? sums[`variance_${k}`] / n : NaN, observed: n > 0 ? sums[`squared_error_${k}`] / n : NaN, share: n / sums.weight};
  });
  const pit = sums => Array.from({length: PIT_BINS}, (_, k) => PIT_BINS * sums[`pit_${k}`] / sums.weight);
  /** Share of the truth at or below the predicted quantile of each level 1/20, 2/20 ... 19/20. */
  function calibration(sums) {
    let below = 0;
    return Array.from({length: PIT_BINS - 1}, (_, k) => [(k + 1) / PIT_BINS, (below += sums[`pit_${k}`]) / sums.weight]);
  }
  const mean = name => sums => sums[name] / sums.weight, root = name => sums => Math.sqrt(sums[name] / sums.weight);
  function uce(sums) {
    let gap = 0;
    for (const bin of reliability(sums)) if (bin.share > 0) gap += bin.share * Math.abs(bin.predicted - bin.observed);
    return gap;
  }
  function ence(sums) {
    let gap = 0, used = 0;
    for (const bin of reliability(sums)) if (bin.share > 0) { gap += Math.abs(1 - Math.sqrt(bin.observed / bin.predicted)); used += 1; }
    return gap / used;
  }
  /** What the map can show: `ideal` is where two colours meet, on a scale of ratios where `ratio`; more is orange unless `less`. */
  const metrics = variable => [
    {id: "zms", name: "mean z²", unit: "1", of: mean("z_square"), ideal: 1, ratio: true},
    {id: "coverage", name: `coverage of ${+(100 * variable.level).toFixed(6)} %`, unit: "1", of: mean("covered"), ideal: variable.level, less: true},
    {id: "bias", name: "bias", unit: variable.units, of: mean("error"), ideal: 0},
    {id: "rmse", name: "RMSE", unit: variable.units, of: root("squared_error")},
    {id: "rmv", name: "RMV, root mean variance", unit: variable.units, of: root("variance")},
    {id: "crps", name: "CRPS", unit: variable.units, of: mean("crps")},
    {id: "uce", name: "UCE", unit: squared(variable.units), of: uce},
    {id: "ence", name: "ENCE", unit: "1", of: ence},
    {id: "n", name: "pixels", unit: "1", of: sums => sums.n},
  ];
  const squared = units => !units || units === "1" ? units : /^(\p{L}+|%)$/u.test(units) ? `${units}²` : `(${units})²`;
  const labelled = (text, unit) => unit && unit !== "1" ? `${text}, ${unit}` : text;
  return {load, total, at, metrics, reliability, pit, calibration, squared, labelled};
})();

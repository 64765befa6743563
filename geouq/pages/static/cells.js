// Sums of cells: loaded variable by variable, added up, and made into numbers and curves. Nothing here draws.
"use strict";
geouq.cells = (() => {
  const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array};
  /** What compressed letters hold, as a response. */
  function inflated(data) {
    const text = atob(data), bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k); // Uint8Array.from takes ten times as long
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }
  async function unpacked(packed) {
    const buffer = await inflated(packed.data).arrayBuffer(), found = {};
    let start = 0;
    for (const [name, type] of packed.columns) {
      const stop = start + packed.count * ARRAYS[type].BYTES_PER_ELEMENT;
      found[name] = new ARRAYS[type](buffer.slice(start, stop));
      start = stop;
    }
    return found;
  }
  let waiting = null;
  /** Where the blocks of the tiles lie; `first` are the places of the first block of each tile, and the end. */
  const layout = () => waiting ??= geouq.load("layout", 0, 0).then(data => inflated(data).json()).then(found => {
    found.first = [0];
    found.rows.forEach((rows, tile) => found.first.push(found.first[tile] + rows * found.columns[tile]));
    return found;
  });
  /** A variable of the map with its metrics, its colours, what the tests say and the diagrams of the whole. */
  const described = async (layout, number) => Object.assign(layout.variables[number], await geouq.load("diagrams", number, 0));
  /** The columns of a variable (`cells` of the opening map, other `sums`, or `bins` of the diagrams) of some tiles over the blocks of all tiles; none where it has no such columns. */
  async function load(kind, layout, number, tiles) {
    const rows = layout.variables[number].rows[kind], parts = new Set(), columns = {};
    if (!rows) return columns;
    for (const tile of tiles) {
      for (let part = Math.floor(layout.first[tile] / rows); part * rows < layout.first[tile + 1]; part++) parts.add(part);
    }
    await Promise.all([...parts].map(async part => {
      for (const [name, column] of Object.entries(await unpacked(await geouq.load(kind, number, part)))) {
        (columns[name] ??= new Float64Array(layout.first.at(-1))).set(column, part * rows);
      }
    }));
    return columns;
  }
  /** Sums in the form that functions take: arrays over blocks; PIT and bins are lists of arrays. */
  function grouped(columns) {
    const names = Object.keys(columns), listed = start => names.filter(name => name.startsWith(start)).map(name => columns[name]);
    const bins = {n: listed("n_"), variance: listed("variance_"), squared_error: listed("squared_error_")};
    return {...columns, weight: columns.weight ?? columns.n, pit: listed("pit_"), bins};
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
  const share = (sums, name, block) => sums[name][block] / sums.weight[block];
  const functions = {
    n: (sums, block) => sums.n[block],
    z_mean: (sums, block) => share(sums, "z", block),
    z_std: (sums, block) => Math.sqrt(Math.max(0, share(sums, "z_square", block) - share(sums, "z", block) ** 2)),
    zms: (sums, block) => share(sums, "z_square", block),
    coverage: (sums, block) => share(sums, "covered", block),
    bias: (sums, block) => share(sums, "error", block),
    r2(sums, block) {
      const square = share(sums, "squared_deviation", block), spread = square - share(sums, "deviation", block) ** 2;
      return spread > square * 2 ** -20 ? 1 - share(sums, "squared_error", block) / spread : NaN; // a smaller spread is rounding of float32
    },
    rmse: (sums, block) => Math.sqrt(share(sums, "squared_error", block)),
    sharpness_rms: (sums, block) => Math.sqrt(share(sums, "variance", block)),
    uce({bins, weight}, block) {
      let gap = 0;
      for (let k = 0; k < bins.n.length; k++) gap += Math.abs(bins.variance[k][block] - bins.squared_error[k][block]);
      return gap / weight[block];
    },
    ence({bins}, block) {
      let gap = 0, used = 0;
      for (let k = 0; k < bins.n.length; k++) {
        if (!(bins.n[k][block] > 0)) continue;
        gap += Math.abs(1 - Math.sqrt(bins.squared_error[k][block] / bins.variance[k][block]));
        used += 1;
      }
      return gap / used;
    },
  };
  const BINNED = new Set(["uce", "ence"]); // they need the sums of the diagrams
  /** The kind of the columns that a metric needs, given those of the opening map. */
  function kindOf({id, of}, variable, first) {
    if (id in first || of === "coverage" && "covered" in first) return "cells";
    return variable.rows.bins && BINNED.has(of) ? "bins" : "sums";
  }
  /** What the map can show: a function of sums and a block, kind of the sums, name, unit and colours of each metric. */
  const metrics = (variable, first) => [...variable.metrics, {id: "n", of: "n", name: "pixels", unit: "1"}].map(metric => ({
    ...metric, kind: kindOf(metric, variable, first), isBinned: BINNED.has(metric.of),
    at: (sums, block = 0) => metric.id in sums && metric.id !== "n" ? share(sums, metric.id, block) : functions[metric.of](sums, block),
  }));
  /** Points of the diagrams of a block. */
  function curves(sums, block = 0) {
    const {bins, weight, pit} = sums, reliability = [], calibration = [];
    bins.n.forEach(({[block]: n}, k) => {
      if (n > 0) reliability.push([bins.variance[k][block] / n, bins.squared_error[k][block] / n]);
    });
    let below = 0;
    for (let k = 0; k < pit.length - 1; k++) calibration.push([(k + 1) / pit.length, (below += pit[k][block]) / weight[block]]);
    return {reliability, calibration, pit: pit.map(column => pit.length * column[block] / weight[block]), halfWidth: null};
  }
  /** The std of z of some blocks together, and what it is made of: the scatter within blocks and between their means. */
  function scatter(sums, blocks) {
    let weight = 0, mean = 0, between = 0, within = 0;
    for (const block of blocks) if (sums.weight[block] > 0) { weight += sums.weight[block]; mean += sums.z[block]; }
    mean /= weight;
    for (const block of blocks) {
      if (!(sums.weight[block] > 0)) continue;
      between += sums.weight[block] * (share(sums, "z", block) - mean) ** 2;
      within += sums.weight[block] * functions.z_std(sums, block) ** 2;
    }
    return {within: Math.sqrt(within / weight), between: Math.sqrt(between / weight), total: Math.sqrt((within + between) / weight)};
  }
  /** A number of a metric as people see it: shares in per cent. */
  const forPeople = ({isPercent}, value) => isPercent ? 100 * value : value;
  const labelled = (text, unit) => unit && unit !== "1" ? `${text}, ${unit}` : text;
  const squared = units => !units || units === "1" ? units : /^(\p{L}+|%)$/u.test(units) ? `${units}²` : `(${units})²`;
  return {layout, described, load, grouped, total, metrics, curves, scatter, forPeople, labelled, squared};
})();

// Pictures of the worst tiles: predicted mean and std, error and z of their cells.
"use strict";
if (document.querySelector("#worst") && document.querySelector("#map")) {
  const {cells, colours, element, people} = geouq, table = document.querySelector("#worst table");
  const share = name => (sums, block) => sums[name][block] / sums.weight[block];
  const LAYERS = [
    {name: "mean", hasUnits: true, at: (sums, block) => (sums.truth[block] + sums.error[block]) / sums.weight[block]},
    {name: "std", hasUnits: true, at: (sums, block) => Math.sqrt(sums.variance[block] / sums.weight[block])},
    {name: "error", hasUnits: true, at: share("error")},
    {name: "z", at: share("z")},
  ];
  /** The picture of a layer of a tile, in the colours of the map of pixels of that name. */
  function picture({name, hasUnits, at}, variable, sums, layout, tile) {
    const first = layout.first[tile], count = layout.first[tile + 1] - first, values = Array.from({length: count}, (_, k) => at(sums, first + k));
    const known = values.filter(Number.isFinite), least = known.reduce((a, b) => Math.min(a, b), Infinity), most = known.reduce((a, b) => Math.max(a, b), -Infinity);
    const {paint} = colours.scale(variable.pixels[name] ?? colours.spanning(least, most));
    const canvas = element("canvas", {width: layout.columns[tile], height: layout.rows[tile], className: "thumbnail"}), pen = canvas.getContext("2d");
    pen.putImageData(new ImageData(paint(values), canvas.width), 0, 0);
    canvas.style.aspectRatio = `${layout.widths[tile]} / ${layout.heights[tile]}`;
    const range = `${people(least)} to ${people(most)}${hasUnits && variable.units && variable.units !== "1" ? ` ${variable.units}` : ""}`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${name} of the cells of ${layout.names[tile]}: ${range}`);
    return element("figure", {}, canvas, element("figcaption", {}, `${name}: ${range}`));
  }
  async function show() {
    const layout = await cells.layout();
    for (const row of table.tBodies[0].rows) {
      const wish = new URLSearchParams(row.querySelector("th a").hash.slice(1)), number = layout.variables.findIndex(one => one.name === wish.get("variable"));
      const tile = layout.names.indexOf(wish.get("tile"));
      if (number < 0 || tile < 0) continue;
      const [variable, ...columns] = await Promise.all([cells.described(layout, number), ...["cells", "sums"].map(kind => cells.load(kind, layout, number, [tile]))]);
      const sums = cells.grouped(Object.assign({}, ...columns));
      if (sums.variance) row.lastElementChild.append(element("div", {className: "thumbnails"}, ...LAYERS.map(layer => picture(layer, variable, sums, layout, tile))));
    }
    table.caption.append(" The pictures are of its cells; error and z are red where predictions are too high, blue where they are too low, and grey is without data.");
    table.dataset.ready = "";
  }
  new IntersectionObserver((entries, observer) => {
    if (entries.some(entry => entry.isIntersecting)) { observer.disconnect(); show(); }
  }, {rootMargin: "400px"}).observe(table);
}

// Where blocks of cells lie on the map: in pixels of the tiles, from the upper left corner of what is shown.
"use strict";
geouq.geometry = (layout, tiles) => {
  const MOST_PIXELS = 4e6, MOST_EXACT_PIXELS = 1e6;
  const {tops, lefts, heights, widths, rows, columns, size, first} = layout;
  const every = [];
  for (const tile of tiles) for (let block = first[tile]; block < first[tile + 1]; block++) every.push(block);
  const least = starts => tiles.reduce((found, tile) => Math.min(found, starts[tile]), Infinity);
  const most = (starts, lengths) => tiles.reduce((found, tile) => Math.max(found, starts[tile] + lengths[tile]), 0);
  const top = least(tops), left = least(lefts), height = most(tops, heights) - top, width = most(lefts, widths) - left;
  const raster = drawn(), shown = new Set(tiles);

  /** Which block is at each pixel of the picture, -1 where there is none. */
  function drawn() {
    const step = exactStep() ?? Math.max(1, Math.ceil(Math.max(size / 8, Math.sqrt(height * width / MOST_PIXELS))));
    const picture = {step, rows: Math.ceil(height / step), columns: Math.ceil(width / step)};
    picture.blocks = new Int32Array(picture.rows * picture.columns).fill(-1);
    for (const tile of tiles) paint(picture, tile);
    return picture;
  }
  /** The largest step in which all sides of tiles and blocks lie; none where the picture would have very many pixels. */
  function exactStep() {
    const common = (a, b) => b ? common(b, a % b) : a;
    const step = tiles.reduce((found, tile) => [tops[tile] - top, lefts[tile] - left, heights[tile], widths[tile]].reduce(common, found), size);
    return height / step * width / step <= MOST_EXACT_PIXELS ? step : undefined;
  }
  /** Put the blocks of a tile into the picture: each pixel is of the block that holds its middle. */
  function paint(picture, tile) {
    const {step} = picture, down = tops[tile] - top, across = lefts[tile] - left;
    const pixels = (start, length) => [Math.ceil(start / step - 0.5), Math.ceil((start + Math.max(length, step)) / step - 0.5)];
    const [firstRow, lastRow] = pixels(down, heights[tile]), [firstColumn, lastColumn] = pixels(across, widths[tile]);
    const inside = (pixel, start, blocks) => Math.max(0, Math.min(blocks - 1, Math.floor(((pixel + 0.5) * step - start) / size)));
    for (let row = Math.max(0, firstRow); row < Math.min(lastRow, picture.rows); row++) {
      const block = first[tile] + inside(row, down, rows[tile]) * columns[tile];
      for (let column = Math.max(0, firstColumn); column < Math.min(lastColumn, picture.columns); column++) {
        picture.blocks[row * picture.columns + column] = block + inside(column, across, columns[tile]);
      }
    }
  }
  /** The block at a point, x to the right and y upwards from the upper left corner; -1 where there is none. */
  function blockAt(x, y) {
    const row = Math.floor(-y / raster.step), column = Math.floor(x / raster.step);
    const outside = row < 0 || column < 0 || row >= raster.rows || column >= raster.columns;
    return outside ? -1 : raster.blocks[row * raster.columns + column];
  }
  function tileOf(block) {
    let low = 0, high = rows.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (first[middle] <= block) low = middle; else high = middle;
    }
    return low;
  }
  /** The sides of a block, cut at the edge of its tile, and its middle; y upwards. */
  function place(block) {
    const tile = tileOf(block), inside = block - first[tile];
    const row = Math.floor(inside / columns[tile]), column = inside % columns[tile];
    const from = {top: tops[tile] - top + row * size, left: lefts[tile] - left + column * size};
    const to = {bottom: tops[tile] - top + Math.min((row + 1) * size, heights[tile]), right: lefts[tile] - left + Math.min((column + 1) * size, widths[tile])};
    return {
      tile, row, column, top: -from.top, bottom: -to.bottom, left: from.left, right: to.right,
      x: (from.left + to.right) / 2, y: -(from.top + to.bottom) / 2,
    };
  }
  /** The name of a block: rows and columns count from 0, as in the files of cells. */
  function named(block) {
    const {tile, row, column} = place(block);
    return `${layout.names[tile]}, row ${row}, column ${column}`;
  }
  /** The sides of a tile; y downwards. */
  const sides = tile => ({left: lefts[tile] - left, top: tops[tile] - top, right: lefts[tile] - left + widths[tile], bottom: tops[tile] - top + heights[tile]});
  /** The outline of some tiles as lines [x0, y0, x1, y1], y downwards, without sides that two of them share; labels: where its name stands on each of its separate parts. */
  function outline(own) {
    const counts = new Map(), all = own.map(sides), part = all.map((_, k) => k);
    const partOf = k => { while (part[k] !== k) k = part[k] = part[part[k]]; return k; };
    all.forEach(({left: x0, top: y0, right: x1, bottom: y1}, k) => {
      for (const line of [[x0, y0, x1, y0], [x0, y1, x1, y1], [x0, y0, x0, y1], [x1, y0, x1, y1]]) {
        const key = line.join(), found = counts.get(key);
        if (found) part[partOf(k)] = partOf(found.tile);
        counts.set(key, {line, tile: k, count: (found?.count ?? 0) + 1});
      }
    });
    const parts = new Map();
    all.forEach((one, k) => parts.has(partOf(k)) ? parts.get(partOf(k)).push(one) : parts.set(partOf(k), [one]));
    return {lines: [...counts.values()].filter(({count}) => count === 1).map(({line}) => line), labels: [...parts.values()].map(labelOf)};
  }
  /** Where the name of touching tiles stands, on the tile nearest to their middle, and how wide they are together. */
  function labelOf(touching) {
    const middle = touching.map(one => [(one.left + one.right) / 2, (one.top + one.bottom) / 2]);
    const mean = k => middle.reduce((sum, point) => sum + point[k], 0) / middle.length, far = point => Math.hypot(point[0] - mean(0), point[1] - mean(1));
    const [x, y] = middle.reduce((best, point) => far(point) < far(best) ? point : best);
    const ends = touching.reduce(([low, high], one) => [Math.min(low, one.left), Math.max(high, one.right)], [Infinity, -Infinity]);
    return {x, y, width: ends[1] - ends[0]};
  }
  /** Stretches of either axis between strips that are cut out, as [start, end] on the map. */
  function spans({x, y, step}) {
    const along = (places, starts, lengths, first, pixel) => {
      const found = [];
      for (const tile of [...tiles].sort((a, b) => starts[a] - starts[b])) {
        const start = starts[tile] - first, end = start + lengths[tile], shift = Math.round((places[tile] - places[tiles[0]]) / pixel) - start, last = found.at(-1);
        if (last && (start <= last[1] || shift === last[2])) last[1] = Math.max(last[1], end);
        else found.push([start, end, shift]);
      }
      return found;
    };
    return {x: along(x, lefts, widths, left, step[0]), y: along(y, tops, heights, top, step[3])};
  }
  /** The same of lines in pixels of the whole map, and of the spot of the name, which may lie outside of this map. */
  function traced(flat, spot) {
    const lines = Array.from({length: flat.length / 4}, (_, k) => [flat[4 * k] - left, flat[4 * k + 1] - top, flat[4 * k + 2] - left, flat[4 * k + 3] - top]);
    const own = lines.filter(([x0, y0, x1, y1]) => blockAt((x0 + x1) / 2, -(y0 + y1) / 2) >= 0), label = spot && {x: spot[0] - left, y: spot[1] - top, width: spot[2]};
    return {lines: own, labels: label && blockAt(label.x, -label.y) >= 0 ? [label] : []};
  }
  /** Whether a block is on this map. */
  const holds = block => Number.isInteger(block) && block >= 0 && block < first.at(-1) && shown.has(tileOf(block));
  return {every, holds, height, width, top, left, raster, blockAt, place, named, sides, outline, labelOf, traced, spans};
};

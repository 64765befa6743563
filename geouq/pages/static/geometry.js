// Where blocks of cells lie on the map: in pixels of the tiles, from the upper left corner of what is shown.
"use strict";
geouq.geometry = (layout, tiles) => {
  const MOST_PIXELS = 4e6, MOST_EXACT_PIXELS = 1e6;
  const {tops, lefts, heights, widths, rows, columns, size, first} = layout;
  const every = tiles.flatMap(tile => Array.from({length: first[tile + 1] - first[tile]}, (_, k) => first[tile] + k));
  const least = starts => tiles.reduce((found, tile) => Math.min(found, starts[tile]), Infinity);
  const most = (starts, lengths) => tiles.reduce((found, tile) => Math.max(found, starts[tile] + lengths[tile]), 0);
  const top = least(tops), left = least(lefts), height = most(tops, heights) - top, width = most(lefts, widths) - left;
  const raster = drawn();

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
  function named(block) {
    const {tile, row, column} = place(block);
    return `${layout.names[tile]}, row ${row + 1}, column ${column + 1}`;
  }
  /** The sides of a tile; y downwards. */
  const sides = tile => ({left: lefts[tile] - left, top: tops[tile] - top, right: lefts[tile] - left + widths[tile], bottom: tops[tile] - top + heights[tile]});
  /** The outline of some tiles as lines [x0, y0, x1, y1], y downwards, without sides that two of them share; where its name stands. */
  function outline(own) {
    const counts = new Map(), all = own.map(sides);
    for (const one of all) {
      const {left: x0, top: y0, right: x1, bottom: y1} = one;
      for (const line of [[x0, y0, x1, y0], [x0, y1, x1, y1], [x0, y0, x0, y1], [x1, y0, x1, y1]]) {
        const key = line.join();
        counts.set(key, [line, (counts.get(key)?.[1] ?? 0) + 1]);
      }
    }
    const middle = all.map(one => [(one.left + one.right) / 2, (one.top + one.bottom) / 2]);
    const mean = k => middle.reduce((sum, point) => sum + point[k], 0) / middle.length, far = point => Math.hypot(point[0] - mean(0), point[1] - mean(1));
    const [x, y] = middle.reduce((best, point) => far(point) < far(best) ? point : best, middle[0] ?? [0, 0]);
    const most = (name, start) => all.reduce((found, one) => Math.max(found, one[name]), start);
    return {lines: [...counts.values()].filter(([, count]) => count === 1).map(([line]) => line), x, y, width: all.length ? most("right", 0) - all.reduce((found, one) => Math.min(found, one.left), Infinity) : 0};
  }
  /** The same of lines in pixels of the whole map, those of this map. */
  function traced(flat) {
    const lines = Array.from({length: flat.length / 4}, (_, k) => [flat[4 * k] - left, flat[4 * k + 1] - top, flat[4 * k + 2] - left, flat[4 * k + 3] - top]);
    const own = lines.filter(([x0, y0, x1, y1]) => blockAt((x0 + x1) / 2, -(y0 + y1) / 2) >= 0), xs = own.map(([x0, , x1]) => (x0 + x1) / 2), ys = own.map(([, y0, , y1]) => (y0 + y1) / 2);
    const middle = values => values.reduce((sum, value) => sum + value, 0) / values.length, ends = values => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const [low, high] = ends(xs);
    return {lines: own, x: middle(xs), y: middle(ys), width: high - low};
  }
  return {every, everySet: new Set(every), height, width, top, left, raster, blockAt, place, named, sides, outline, traced};
};

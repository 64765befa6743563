// Colours for the numbers of cells: steps of a metric, the same as in the cell maps, with even changes between them.
"use strict";
geouq.colours = (() => {
  const VIRIDIS = ["#440154", "#443a83", "#31688e", "#21908c", "#35b779", "#8fd744", "#fde725"];
  /** Red, green and blue of a colour. */
  const parts = colour => [1, 3, 5].map(k => parseInt(colour.slice(k, k + 2), 16));
  /** Position of a number along the bar of colours, 0 to 1: steps lie at even distances. */
  function position(values, number) {
    const last = values.length - 1;
    if (!(number > values[0])) return 0;
    if (number >= values[last]) return 1;
    let step = 0;
    while (number >= values[step + 1]) step += 1;
    return (step + (number - values[step]) / (values[step + 1] - values[step])) / last;
  }
  /** Red, green, blue and opacity of each number, in bytes; nothing where there is no number. */
  function painted(numbers, values, colours) {
    const bytes = new Uint8ClampedArray(4 * numbers.length), channels = colours.map(parts), last = colours.length - 1;
    for (let k = 0; k < numbers.length; k++) {
      if (!Number.isFinite(numbers[k])) continue;
      const at = position(values, numbers[k]) * last, step = Math.min(Math.floor(at), last - 1), share = at - step, from = channels[step], to = channels[step + 1];
      for (let channel = 0; channel < 3; channel++) bytes[4 * k + channel] = from[channel] * (1 - share) + to[channel] * share;
      bytes[4 * k + 3] = 255;
    }
    return bytes;
  }
  /** Steps and colours of a metric; of a number of pixels, from none to the most. */
  function scale(metric, most) {
    const values = metric.values ?? VIRIDIS.map((_, k) => most * k / (VIRIDIS.length - 1)), colours = metric.colours ?? VIRIDIS;
    return {values, colours, paint: numbers => painted(numbers, values, colours)};
  }
  /** What spans the colours of amounts between two numbers. */
  const spanning = (low, high) => ({values: VIRIDIS.map((_, k) => low + (high - low) * k / (VIRIDIS.length - 1))});
  return {scale, spanning};
})();

// Colours for the numbers of cells: steps of a metric, the same as in the cell maps, with even changes between them.
"use strict";
geouq.colours = (() => {
  const VIRIDIS = ["#440154", "#443a83", "#31688e", "#21908c", "#35b779", "#8fd744", "#fde725"];
  const part = (colour, k) => parseInt(colour.slice(k, k + 2), 16);
  /** Position of a number along the bar of colours, 0 to 1: steps lie at even distances. */
  function position(values, number) {
    const last = values.length - 1;
    if (!(number > values[0])) return 0;
    if (number >= values[last]) return 1;
    let step = 0;
    while (number >= values[step + 1]) step += 1;
    return (step + (number - values[step]) / (values[step + 1] - values[step])) / last;
  }
  /** Red, green and blue at a position along the bar. */
  function mixed(colours, place) {
    const at = place * (colours.length - 1), step = Math.min(Math.floor(at), colours.length - 2), share = at - step;
    return [1, 3, 5].map(k => Math.round(part(colours[step], k) * (1 - share) + part(colours[step + 1], k) * share));
  }
  /** Steps and colours of a metric; of a number of pixels, from none to the most. */
  function scale(metric, most) {
    const values = metric.values ?? VIRIDIS.map((_, k) => most * k / (VIRIDIS.length - 1)), colours = metric.colours ?? VIRIDIS;
    return {values, colours, rgb: number => mixed(colours, position(values, number))};
  }
  /** What spans the colours of amounts between two numbers. */
  const spanning = (low, high) => ({values: VIRIDIS.map((_, k) => low + (high - low) * k / (VIRIDIS.length - 1))});
  return {scale, spanning};
})();

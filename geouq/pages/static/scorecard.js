// The scorecard: its tabs, rows that are filtered or loaded when they are wanted, and the print button.
"use strict";
if (document.querySelector(".card")) {
  const AT_ONCE = 40, {element} = geouq;
  const card = document.querySelector(".card"), body = card.querySelector("tbody");
  const tabs = [...card.querySelectorAll("[name=tab]")], columns = [...card.querySelectorAll("thead button")];
  const search = card.querySelector("[type=search]"), more = card.querySelector(".more");
  const TABS = ["coverage", "spread", "bias", "skill"]; // as in the data
  const empty = search && geouq.emptiness(card.querySelector(".tabs"), search);
  let rows = [...body.rows], by = null, shown = rows.length; // by: the column that sorts the rows, and whether it rises

  const tab = () => tabs.find(one => one.checked)?.value ?? TABS[0];
  const MISSING = -1; // as in the data
  const order = (row, column) => Number(row.cells[column].querySelector(`.t-${tab()}`)?.dataset.order ?? MISSING);
  /** Compare rows by a column; rows without a number come last either way. */
  function compare(a, b) {
    const [one, other] = [order(a, by.column), order(b, by.column)];
    return (one === MISSING) - (other === MISSING) || (by.rises ? one - other : other - one);
  }
  function made([name, link, cells]) {
    const head = element("th", {scope: "row"}, link ? element("a", {href: link}, name) : name);
    return element("tr", {}, head, ...cells.map(([words, ...marks], column) => {
      const spans = tabs.map(({value}) => {
        const [text, classes, order, sign] = marks[TABS.indexOf(value)], span = element("span", {className: `t-${value} ${classes}`}, `${text} `, element("i", {}, sign));
        span.dataset.order = order;
        return span;
      });
      const link = element("a", {href: `#${new URLSearchParams({variable: columns[column].dataset.variable, part: name})}`}, ...spans);
      return element("td", {title: words}, link);
    }));
  }
  const regionsIn = some => some.filter(row => row.querySelector("th a")).length; // without the whole
  /** Load all rows, where only some stand on the page. */
  async function all() {
    if (rows.length < Number(card.dataset.rows)) rows = (await geouq.parts("card", 0, Number(card.dataset.parts))).flat().map(made);
  }
  /** Give the rows on the page the words that come with all rows, when someone looks for them. */
  async function describe() {
    const inline = [...body.rows];
    await all();
    inline.forEach((row, k) => [...row.cells].forEach((cell, column) => { cell.title = rows[k].cells[column].title; }));
    geouq.about.again();
  }
  if (more) for (const kind of ["pointerover", "focusin"]) body.addEventListener(kind, describe, {once: true});
  function show() {
    const wanted = search?.value.toLowerCase() ?? "";
    let found = rows.filter(row => row.cells[0].textContent.toLowerCase().includes(wanted));
    if (by) found = [...found].sort(compare);
    body.replaceChildren(...found.slice(0, shown));
    empty?.(!found.length);
    if (!more) return;
    more.querySelector("button").hidden = shown >= found.length;
    more.querySelector("output").textContent = `${regionsIn([...body.rows])} of ${regionsIn(found)} regions`;
  }
  search?.addEventListener("input", async () => { await all(); show(); });
  more?.querySelector("button").addEventListener("click", async () => { await all(); shown += AT_ONCE; show(); });
  /** Sort by a column: the largest effects first, then the smallest, then as before, the worst of all variables first. */
  for (const [k, button] of columns.entries()) button.addEventListener("click", async () => {
    await all();
    by = by?.column !== k + 1 ? {column: k + 1, rises: false} : by.rises ? null : {...by, rises: true};
    for (const one of columns) one.closest("th").removeAttribute("aria-sort");
    if (by) button.closest("th").setAttribute("aria-sort", by.rises ? "ascending" : "descending");
    geouq.remember({sort: by && button.dataset.variable, rises: by?.rises ? 1 : null});
    show();
  });
  for (const one of tabs) one.addEventListener("change", () => {
    geouq.remember({tab: one.value});
    if (by) show();
  });
  // A click on a number shows it on the map; tab, sorting and metric stay as they are.
  body.addEventListener("click", event => {
    const link = event.target.closest("td a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const {box, cell, tile, ...kept} = geouq.state(), {cellIndex, parentElement: row} = link.closest("td");
    location.hash = new URLSearchParams({...kept, variable: columns[cellIndex - 1].dataset.variable, part: row.cells[0].textContent});
  });
  const wish = geouq.state();
  function choose() {
    const wanted = tabs.find(one => one.value === geouq.state().tab) ?? tabs[0];
    if (wanted) wanted.checked = true;
    if (by) show();
  }
  choose();
  addEventListener("hashchange", choose);
  const sorting = columns.find(one => one.dataset.variable === wish.sort);
  for (let k = 0; sorting && k < (wish.rises ? 2 : 1); k++) sorting.click();
}

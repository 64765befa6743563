// Tables that are sorted by a click on a heading; long ones are loaded group by group, and shown some rows at a time.
"use strict";
{
  const AT_ONCE = 100, FEW = 8, LATER = 1000; // milliseconds until a table that nobody looks at is loaded
  const {element, emptiness, plain} = geouq;
  const number = text => text === "\u2013" || text === "" ? -Infinity : Number(plain(text));
  const compare = (a, b) => isNaN(number(a)) || isNaN(number(b)) ? a.localeCompare(b, undefined, {numeric: true}) : number(a) - number(b);
  const order = up => (a, b) => (up ? 1 : -1) * compare(a, b);
  const NEXT = {ascending: "descending", descending: null};
  /** Sort by a column upwards, then downwards, then not at all; return how rows are compared, null where they are not. */
  function turn(heading) {
    const before = heading.getAttribute("aria-sort"), direction = before === null ? "ascending" : NEXT[before];
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    if (direction) heading.setAttribute("aria-sort", direction);
    return direction && order(direction === "ascending");
  }
  function filled(cell, kind, marks) {
    const [text, under = "", says = "", link = "", , about = ""] = [cell].flat();
    const made = element(kind === "name" ? "th" : "td", kind === "name" ? {scope: "row"} : {className: `${kind === "number" ? "" : kind} ${says.replaceAll(" ", "-")}`.trim()});
    if (about) Object.assign(made, {title: about, tabIndex: 0});
    made.append(link ? element("a", {href: link}, text) : text);
    if (says in marks) {
      const mark = element("span", {className: "mark"}, `\u00a0${marks[says]}`);
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", says);
      made.append(mark);
    }
    if (under) made.append(element("small", under.length > 45 ? {className: "wide"} : {}, under));
    return made;
  }
  const first = cell => cell.firstChild?.textContent.trim() ?? "";
  /** The number of a cell with all digits, by which rows are sorted too, or its text. */
  const whole = cell => cell.dataset.number ?? first(cell);
  /** Offer the rows that are shown as a file; rows : a list of pairs of a number or text, and the ends of its interval, which have columns of their own. */
  function download(sheet, rows) {
    const button = element("button", {type: "button", className: "download"}, "Download CSV");
    const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    button.addEventListener("click", () => {
      const found = rows(), heads = [...sheet.querySelectorAll("thead button")].map(one => one.textContent), wide = heads.map((_, k) => found.some(line => line[k][1]));
      const texts = found.map(line => line.flatMap(([text, limits], k) => wide[k] ? [text, ...(limits ?? " ").split(" ")] : [text]));
      const lines = [heads.flatMap((head, k) => wide[k] ? [head, `${head}_low`, `${head}_high`] : [head]), ...texts].map(line => line.map(text => quoted(text === "\u2013" ? "" : plain(text))).join(","));
      const link = element("a", {href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], {type: "text/csv"})), download: `${sheet.dataset.name}.csv`});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    return button;
  }
  /** Keep the sorting of a table in the address. */
  function keep(sheet, heading) {
    const direction = heading.getAttribute("aria-sort");
    geouq.remember({order: direction && `${sheet.dataset.name}.${heading.cellIndex}.${direction}`});
  }
  function short(sheet) {
    const body = sheet.querySelector("tbody"), rows = [...body.rows], controls = element("div", {className: "controls"});
    sheet.prepend(controls);
    if (rows.length > FEW) {
      const search = element("input", {type: "search", size: 14}), empty = emptiness(controls, search);
      search.addEventListener("input", () => {
        for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(search.value.toLowerCase());
        empty(rows.every(row => row.hidden));
      });
      controls.append(element("label", {}, "rows with ", search));
    }
    controls.append(download(sheet, () => [...body.rows].filter(row => !row.hidden).map(row => [...row.cells].map(cell => [whole(cell), cell.dataset.limits]))));
    for (const button of sheet.querySelectorAll("th button")) button.addEventListener("click", () => {
      const heading = button.closest("th"), by = turn(heading), column = heading.cellIndex;
      body.append(...(by ? [...rows].sort((a, b) => by(whole(a.cells[column]), whole(b.cells[column]))) : rows));
      keep(sheet, heading);
    });
  }
  function long(sheet) {
    const index = JSON.parse(sheet.dataset.sheet), only = index.only.length ? new Set(index.only) : null;
    const body = sheet.querySelector("tbody"), [select, search] = sheet.querySelectorAll("select, input"), more = sheet.querySelector(".more");
    const name = index.kinds.indexOf("name"), text = cell => [cell].flat()[0], exact = cell => [cell].flat()[4] || text(cell);
    const empty = emptiness(sheet.querySelector(".controls"), search);
    let rows = [], shown = [], by = null;
    function show(count) {
      const first = body.rows.length;
      body.append(...shown.slice(first, first + count).map(row => element("tr", {}, ...row.map((cell, k) => filled(cell, index.kinds[k], index.marks)))));
      more.hidden = body.rows.length >= shown.length;
      sheet.querySelector("output").textContent = `${geouq.thousands(body.rows.length)} of ${geouq.thousands(rows.length)} rows shown`;
    }
    function again() {
      const wanted = search.value.toLowerCase();
      shown = wanted ? rows.filter(row => text(row[name]).toLowerCase().includes(wanted)) : [...rows];
      if (by) shown.sort((a, b) => by.order(exact(a[by.column]), exact(b[by.column])));
      body.replaceChildren();
      show(AT_ONCE);
      empty(wanted !== "" && !shown.length);
    }
    async function open() {
      const group = select.selectedIndex;
      const found = index.files ? (await geouq.parts(index.name, group, index.files[group])).flat() : (await geouq.load(index.name, 0, 0))[group];
      if (group !== select.selectedIndex) return; // another one was chosen in the meantime
      rows = only ? found.filter(row => only.has(text(row[name]))) : found;
      again();
    }
    for (const button of sheet.querySelectorAll("th button")) button.addEventListener("click", () => {
      const heading = button.closest("th"), order = turn(heading);
      by = order && {order, column: heading.cellIndex};
      keep(sheet, heading);
      again();
    });
    sheet.querySelector(".controls").append(download(sheet, () => shown.map(row => row.map(cell => [exact(cell), [cell].flat()[6]]))));
    select.parentElement.hidden = index.groups.length < 2;
    select.addEventListener("change", open);
    search.addEventListener("input", again);
    more.querySelector("button").addEventListener("click", () => show(AT_ONCE));
    const observer = new IntersectionObserver(entries => { if (entries.some(entry => entry.isIntersecting)) begin(); }, {rootMargin: "400px"});
    const begin = () => { observer.disconnect(); section?.removeEventListener("toggle", begin); open(); }, section = sheet.closest("details");
    section?.addEventListener("toggle", begin); // also where it is printed without being looked at
    if (section?.open) setTimeout(begin, LATER);
    observer.observe(sheet);
  }
  for (const sheet of document.querySelectorAll(".sheet")) ("sheet" in sheet.dataset ? long : short)(sheet);
  const [name, column, direction] = geouq.state().order?.split(".") ?? [];
  for (const sheet of document.querySelectorAll(".sheet")) {
    const button = sheet.dataset.name === name && sheet.querySelectorAll("thead button")[Number(column)];
    if (button) {
      sheet.closest("details")?.setAttribute("open", "");
      button.click();
      if (direction === "descending") button.click();
    }
  }
}

// On paper nothing can be opened: the rule of the verdict and how to read the diagrams are shown, and large tables and long lists
// have their first rows, columns and sentences and name the file with all of them.
"use strict";
{
  const COLUMNS = 15, ROWS = 40, FEWEST = 4, LITTLE = 24, {thousands} = geouq; // of all tables together, of each, and of one that may be whole
  const folded = "details:is(.folds, .rest):not([open]), #verdict details.rule:not([open]), #multiples details.rule:not([open])";
  const isPrinted = one => !one.closest("details:not([open]), .screen");
  /** How many rows of each table are printed at most, so that the tables together take about a page; small ones leave theirs to others. */
  function room() {
    const sheets = [...document.querySelectorAll(".sheet")].filter(isPrinted).map(sheet => Number(sheet.querySelector(".paper")?.dataset.total ?? 0)).sort((a, b) => a - b);
    let left = ROWS;
    for (const [k, rows] of sheets.entries()) {
      const most = Math.floor(left / (sheets.length - k));
      if (rows > most) return Math.max(FEWEST, most);
      left -= rows;
    }
    return Infinity;
  }
  /** Of a table with too many rows or columns, leave the first ones, and say so below it. */
  function cut(sentence) {
    const {total, file} = sentence.dataset, most = sentence.closest(".sheet") && total <= LITTLE ? room() : Math.min(sentence.dataset.most, sentence.closest(".sheet") ? room() : Infinity), [head, ...all] = sentence.previousElementSibling.querySelectorAll("tr");
    const rows = all.filter(row => !row.hidden), kept = Math.min(rows.length, most), columns = head.cells.length;
    for (const [k, row] of rows.entries()) row.classList.toggle("screen", k >= kept);
    for (const row of [head, ...rows.slice(0, kept)]) for (const cell of [...row.cells].slice(COLUMNS)) cell.classList.add("screen");
    const left = [[kept, total, "rows"], [Math.min(columns, COLUMNS), columns, "columns"]].filter(([some, of]) => some < Number(of));
    const counts = left.map(([some, of, what]) => `${thousands(some)} of ${thousands(of)} ${what}`).join(" and ");
    sentence.textContent = counts && `${counts} are printed; all numbers: ${file}`;
  }
  /** Of a list with too many sentences, leave the first ones, and say so below it. */
  function cutList(sentence) {
    const {most, total, file, what} = sentence.dataset;
    for (const [k, item] of [...sentence.previousElementSibling.children].entries()) item.classList.toggle("screen", k >= Number(most));
    sentence.textContent = Number(total) > Number(most) ? `${most} of ${thousands(total)} ${what} are printed; all ${what}: ${file}` : "";
  }
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll(folded)) {
      details.open = true;
      details.dataset.opened = "";
    }
    for (const sentence of document.querySelectorAll(".paper")) (sentence.dataset.what ? cutList : cut)(sentence);
  });
  addEventListener("afterprint", () => {
    for (const details of document.querySelectorAll("details[data-opened]")) {
      details.open = false;
      delete details.dataset.opened;
    }
  });
}

// What all parts of a page share: data, which come as scripts as a page on disk may load nothing else; numbers; the state.
"use strict";
const geouq = (() => {
  const waiting = new Map();
  /** Load a script that calls `geouq.take` with its data; the data of the same script come once. */
  function load(name, group, part) {
    const key = `${name}_${group}_${part}`;
    if (!waiting.has(key)) {
      const entry = {};
      entry.promise = new Promise((resolve, reject) => Object.assign(entry, {resolve, reject}));
      waiting.set(key, entry);
      const script = document.createElement("script");
      script.src = `assets/data/${key}.js`;
      script.onerror = () => entry.reject(new Error(`${script.src} is missing`));
      document.head.append(script);
    }
    return waiting.get(key).promise;
  }
  const take = (name, group, part, data) => waiting.get(`${name}_${group}_${part}`).resolve(data);
  const parts = (name, group, count) => Promise.all(Array.from({length: count}, (_, part) => load(name, group, part)));
  const SIGNS = "-0123456789", RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
  const raised = power => [...String(Number(power))].map(sign => RAISED[SIGNS.indexOf(sign)]).join("");
  /** A number that people read, as programs read it. */
  const plain = text => text.replace(/[\u202f\u2007\u2008\u00a0]/g, "").replaceAll("\u2212", "-").replace(/×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/, (_, power) => `e${[...power].map(sign => SIGNS[RAISED.indexOf(sign)]).join("")}`);
  /** A number with three significant digits, all of those before the point up to a million, and a true minus sign. */
  function people(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
    const rounded = Number(value.toPrecision(3)), size = Math.abs(rounded);
    const text = size >= 1000 && size < 1e6 ? value.toFixed(0) : size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(2) : String(rounded);
    return text.replace(/e([+-]\d+)/, (_, power) => `\u00a0×\u00a010${raised(power)}`).replaceAll("-", "\u2212");
  }
  const thousands = value => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  /** Texts of a column with spaces in place of decimals, as in the tables: their decimal points stand below each other. */
  function padded(texts) {
    const digits = texts.map(text => /^[-+\u2212]?[\d\s]+(\.\d+)?$/.test(text) ? text.split(".")[1]?.length ?? 0 : -1), most = Math.max(...digits);
    return texts.map((text, k) => digits[k] < 0 || most <= 0 ? text : text + (digits[k] ? "" : "\u2008") + "\u2007".repeat(most - digits[k]));
  }
  /** A number and the ends of its interval, to the place that the interval leaves, as in the tables. */
  function withInterval(value, low, high) {
    const nearer = Math.min(value - low, high - value), span = nearer > 0 ? Math.max(2 * nearer, (high - low) / 100) : high - low;
    const place = Math.floor(Math.log10(span)) - 1, decimals = Math.max(0, -place);
    if (!(high > low) || Math.abs(place) > 6) return [value, low, high].map(people);
    const text = number => (Math.round(number / 10 ** place) * 10 ** place).toFixed(decimals);
    return [value, low, high].map(text).map(own => Number(own) ? own.replace("-", "−") : own.replace("-", ""));
  }
  /** Return what shows, below the controls of a table, that a filter finds no row, with a button that clears the filter. */
  function emptiness(controls, search) {
    const words = element("span"), clear = element("button", {type: "button", hidden: true}, "Show all rows");
    const line = element("p", {className: "nothing"}, words, " ", clear);
    line.setAttribute("role", "status");
    controls.after(line);
    clear.addEventListener("click", () => {
      search.value = "";
      search.dispatchEvent(new Event("input"));
      search.focus();
    });
    return isEmpty => {
      words.textContent = isEmpty ? `No rows match "${search.value}".` : "";
      clear.hidden = !isEmpty;
    };
  }
  // What is chosen stands in the address as #key=value&key=value, so that a link leads to it.
  const state = () => location.hash.includes("=") ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : {};
  /** Change some of what is chosen; null removes a key. */
  function remember(changes) {
    const kept = Object.entries({...state(), ...changes}).filter(([, value]) => value !== null);
    const hash = new URLSearchParams(kept).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }
  return {load, take, parts, people, plain, thousands, padded, withInterval, element, emptiness, state, remember};
})();
for (const button of document.querySelectorAll("[data-press=print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
// Another page opens on the same variable, metric and tab.
document.addEventListener("click", ({target}) => {
  const link = target.closest?.("nav a, .card th a");
  if (!link || link.pathname === location.pathname) return;
  const kept = Object.entries(geouq.state()).filter(([key]) => ["variable", "metric", "tab"].includes(key));
  link.hash = new URLSearchParams(kept).toString();
});
// Details are folded where they would push scorecard and map out of the first screen: those of the answer and of warnings
// on phones, those of the answer on low screens too, and the key of the scorecard where the map is below.
{
  const WHERE = {"": "(max-width: 40rem)", short: "(max-width: 40rem), (max-width: 75rem) and (max-height: 52rem), (max-height: 45rem)", below: "(max-width: 62rem)"};
  for (const [kind, size] of Object.entries(WHERE)) {
    const place = matchMedia(size.split(", ").map(one => `screen and ${one}`).join(", "));
    const fold = () => {
      for (const one of document.querySelectorAll(kind ? `.folds.${kind}` : ".folds:not(.short, .below)")) {
        one.open = !place.matches;
        one.toggleAttribute("data-folds", place.matches);
      }
    };
    place.addEventListener("change", fold);
    fold();
  }
}
// A table of which columns lie beyond the right edge fades out there, as not all browsers show the bar of a box that scrolls.
for (const box of document.querySelectorAll(".scroll")) {
  const mark = () => box.toggleAttribute("data-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
  box.addEventListener("scroll", mark, {passive: true});
  const sizes = new ResizeObserver(mark);
  for (const one of [box, box.firstElementChild]) sizes.observe(one);
}
// A link to the map keeps what is chosen, which stands in the address.
document.querySelector("a.jump")?.addEventListener("click", event => {
  event.preventDefault();
  document.querySelector("#map").scrollIntoView();
  document.querySelector("#map .cells").focus({preventScroll: true});
});
// Pictures of maps are loaded when their section is opened.
document.querySelector("#looks")?.addEventListener("toggle", event => {
  for (const image of event.currentTarget.querySelectorAll("image[data-href]")) image.setAttribute("href", image.dataset.href);
}, {once: true});
/** Open the collapsed section that an address leads to. */
function open() {
  const target = location.hash.includes("=") ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", open);
open();
// Which type of small diagrams is shown stands in the address.
{
  const kinds = [...document.querySelectorAll("[name=diagram]")];
  const choose = () => { (kinds.find(one => one.value === geouq.state().diagram) ?? kinds[0]).checked = true; };
  for (const one of kinds) one.addEventListener("change", () => geouq.remember({diagram: one.value}));
  if (kinds.length) { choose(); addEventListener("hashchange", choose); }
}

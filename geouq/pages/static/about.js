// What a number or a button means, next to it: where it is pointed at, focused or touched. Without scripts the same
// texts are titles, which keyboards and touch screens do not show. A heading that sorts a table is touched twice: the
// first touch shows its text, the second one sorts.
"use strict";
geouq.about = (() => {
  const tip = geouq.element("div", {className: "tip", id: "tip", hidden: true});
  tip.setAttribute("role", "tooltip");
  document.querySelector("main").append(tip);
  const PATIENCE = 400, REACH = 150; // milliseconds: a pointer that passes by opens nothing, and it can reach the text
  let source = null, owner = null, last = null, coming = 0, leaving = 0;
  /** The element around a target that has a text; its title is taken away, so that the text is not shown twice. */
  function explained(target) {
    const one = target?.closest?.("[title], [data-about]") ?? null;
    if (one?.title) {
      one.dataset.about = one.title;
      one.removeAttribute("title");
    }
    return one;
  }
  function place() {
    tip.style.left = "0"; // it is as wide as the room to its right allows
    const edge = source.getBoundingClientRect(), {offsetWidth: wide, offsetHeight: high} = tip;
    const below = edge.bottom + 6, top = below + high < innerHeight ? below : Math.max(4, edge.top - high - 6);
    Object.assign(tip.style, {left: `${Math.max(4, Math.min(edge.left, innerWidth - wide - 8))}px`, top: `${top}px`});
  }
  function hide() {
    clearTimeout(coming);
    clearTimeout(leaving);
    owner?.removeAttribute("aria-describedby");
    tip.hidden = true;
    source = owner = null;
  }
  function show(target) {
    last = target;
    const one = explained(target);
    clearTimeout(leaving);
    if (one === source) return;
    hide();
    if (!one) return;
    source = one;
    owner = one.matches("a, button") ? one : one.querySelector("a, button") ?? one;
    owner.setAttribute("aria-describedby", tip.id);
    tip.textContent = one.dataset.about;
    tip.hidden = false;
    place();
  }
  addEventListener("pointerover", ({target, pointerType}) => {
    if (pointerType === "touch") return;
    clearTimeout(coming);
    clearTimeout(leaving);
    if (tip.contains(target)) return;
    last = target;
    if (explained(target)) coming = setTimeout(show, PATIENCE, target);
    else if (source && !source.contains(document.activeElement)) leaving = setTimeout(hide, REACH);
  });
  /** The heading whose text a touch is to show without sorting: one that sorts, and whose text is not open yet. */
  let unread = null;
  addEventListener("pointerdown", ({target, pointerType}) => {
    const one = pointerType === "touch" ? explained(target) : null;
    unread = one?.matches(".sheet thead button") && one !== source ? one : null;
  });
  addEventListener("click", event => {
    if (!unread?.contains(event.target)) return;
    event.stopImmediatePropagation();
    show(unread);
    tip.textContent = `${unread.dataset.about} Touch again to sort.`;
    place();
    unread = null;
  }, {capture: true});
  addEventListener("pointercancel", () => { unread = null; });
  addEventListener("focusin", ({target}) => show(target));
  addEventListener("focusout", hide);
  addEventListener("click", ({target}) => { if (!tip.contains(target)) show(target); });
  addEventListener("keydown", ({key}) => { if (key === "Escape") hide(); });
  addEventListener("scroll", () => { if (source) place(); }, {capture: true, passive: true});
  /** Show the text of what was pointed at last, which has come in the meantime. */
  const again = () => { if (!source && last?.isConnected) show(last); };
  return {again};
})();

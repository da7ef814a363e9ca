// The keyboard: single keys that do what the mouse does, and a page that lists them.

import { h } from "./dom.js";
import { openDialog } from "./parts/dialog.js";

const KEPT = "rightcall-keys";
const GO = { r: "#/runs", a: "#/approve", c: "#/compare", t: "#/tools", y: "#/try" };
const LISTED = [
  ["j, k", "the next, the one before: runs, turns, calls to decide"],
  ["Enter", "open what has the focus"],
  ["/", "search"],
  ["[, ]", "to the beginning, to the end"],
  ["g then r, a, c, t, y", "go to Runs, Approve, Compare, Tools, Try"],
  ["Escape", "close, leave a field, go back to the list"],
  ["?", "this list"],
];

let goes = false;

/** Listen for the whole page. Views say by marks what can be walked (`data-walk`) and searched (`data-search`). */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") return leave(event);
    if (!areOn() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (goes) return followGo(event);
    const act = ACTIONS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** The list of keys, with a switch: single keys get in the way of those who speak to their machine. */
export function showKeys() {
  const rows = LISTED.map(([keys, what]) => [
    h("dt", keys.split(/(, | then )/).map(keyOrWord)),
    h("dd", what),
  ]);
  const box = h("input", {
    type: "checkbox",
    id: "single-keys",
    onchange: () => localStorage.setItem(KEPT, box.checked ? "on" : "off"),
  });
  box.checked = areOn();
  openDialog("Keyboard shortcuts", h("dl.keys", rows), h("label.line", box, "Single keys are on"));
}

const ACTIONS = {
  "?": showKeys,
  "/": () => document.querySelector("[data-search]")?.focus(),
  j: () => walk(+1),
  k: () => walk(-1),
  "[": () => scrollTo(0, 0),
  "]": () => scrollTo(0, document.documentElement.scrollHeight),
  g: () => {
    goes = true;
    setTimeout(() => (goes = false), 1500);
  },
};

function areOn() {
  return localStorage.getItem(KEPT) !== "off";
}

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function followGo(event) {
  goes = false;
  if (!(event.key in GO)) return;
  event.preventDefault();
  location.hash = GO[event.key];
}

/** From a field to the page, from the page to the list above it; a dialog closes by itself. */
function leave(event) {
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) return event.target.blur();
  const up = document.querySelector("[data-up]");
  if (up) location.hash = up.getAttribute("href");
}

/** Give the focus to the next thing in the list, counted from the one that has it or is at the top of the window. */
function walk(by) {
  const stops = [...document.querySelectorAll("[data-walk]")].filter((stop) => stop.checkVisibility());
  if (!stops.length) return;
  const holder = document.activeElement?.closest("[data-walk]");
  const at = holder ? stops.indexOf(holder) : by > 0 ? firstBelow(stops) - 1 : firstBelow(stops);
  const next = stops[Math.max(0, Math.min(stops.length - 1, at + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function firstBelow(stops) {
  const found = stops.findIndex((stop) => stop.getBoundingClientRect().bottom > 80);
  return found < 0 ? stops.length : found;
}

function keyOrWord(piece) {
  return /^(, | then )$/.test(piece) ? piece : h("kbd", piece);
}

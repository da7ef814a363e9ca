// Text out of a run, kept in its own place and in bounds.

import { fill, h } from "./dom.js";

const MUCH = 3_000;

/** A string of at most so many characters. */
export function clipped(text, most = 300) {
  const whole = String(text ?? "");
  return whole.length > most ? `${whole.slice(0, most)}…` : whole;
}

/** A short piece within a line of the page's own; what is written from right to left leaves the rest as it is. */
export function inline(text, most = 300) {
  return h("bdi", clipped(text, most));
}

/** A block in lines of its own; of a long one the beginning, and a button for the rest. */
export function block(text, { kind = "prose", most = MUCH } = {}) {
  const body = h(`div.stored.${kind}`, { dir: "auto" }, clipped(text, most));
  if (text.length <= most) return body;
  const words = `Show all ${text.length.toLocaleString("en")} characters`;
  const rest = h("button.tiny", { type: "button", onclick: unfold }, words);
  function unfold() {
    fill(body, text);
    body.tabIndex = -1;
    body.focus();
    rest.remove();
  }
  return h("div", body, rest);
}

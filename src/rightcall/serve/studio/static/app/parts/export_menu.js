// A run as a file.

import { at } from "../api.js";
import { h } from "../dom.js";

const FORMATS = [
  ["json", "JSON"],
  ["jsonl", "JSON, an entry a line"],
  ["markdown", "Markdown"],
  ["test", "Test with a scripted model"],
  ["case", "Eval case"],
];

/** A menu of links that save. */
export function exportMenu(run) {
  const links = FORMATS.map(([format, name]) =>
    h("li", h("a", { href: at("/api/run/export", { run, format }), download: "" }, name)),
  );
  const menu = h("details.menu", h("summary.button", "Export"), h("ul", links));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    menu.open = false;
    menu.firstChild.focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(event.relatedTarget)) menu.open = false;
  });
  return menu;
}

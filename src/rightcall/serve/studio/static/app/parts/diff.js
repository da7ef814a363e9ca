// What a file would become: lines with their signs, so that colour is not all that tells them apart.

import { h } from "../dom.js";
import { inline } from "../stored.js";

const SIGNS = { same: " ", add: "+", remove: "−", skip: "⋯" };
const READ = { add: "added: ", remove: "removed: " };

export function diffNode({ path, is_new: isNew, lines, note }) {
  const rows = lines.map(([kind, text]) =>
    h(
      `div.diff-line.${kind}`,
      h("span.sign", { "aria-hidden": "true" }, SIGNS[kind] ?? " "),
      READ[kind] && h("span.unseen", READ[kind]),
      h("bdi", text),
    ),
  );
  const head = h(
    "figcaption",
    isNew ? "New file " : "Changes in ",
    h("code", inline(path, 200)),
    note && h("span.soft", " – ", inline(note, 300)),
  );
  return h(
    "figure.diff",
    head,
    h("div.diff-text", { tabindex: 0, role: "group", "aria-label": "Changed lines" }, rows),
  );
}

// Values as people read them, and what is folded away until somebody asks.

import { h } from "../dom.js";
import { block, inline } from "../stored.js";
import { mediaFigure } from "./media.js";

const LINE = 72;

/** A value as JSON in lines; what fits into one stays in one. */
export function json(value) {
  return block(pretty(value, ""), { kind: "code" });
}

function pretty(value, margin) {
  // New lines within texts are escaped, so those that are there are the indentation's own.
  const flat = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  if (value === null || typeof value !== "object" || margin.length + flat.length <= LINE) return flat;
  const inner = `${margin}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const rows = Object.entries(value).map(
    ([name, one]) => `${inner}${open === "{" ? `${JSON.stringify(name)}: ` : ""}${pretty(one, inner)}`,
  );
  return `${open}\n${rows.join(",\n")}\n${margin}${close}`;
}

/** An object of plain values as lines of names and values; any other as JSON. */
export function argumentsNode(object) {
  const pairs = Object.entries(object);
  if (pairs.some(([, value]) => value !== null && typeof value === "object")) return json(object);
  if (!pairs.length) return h("p.small.soft", "no arguments");
  return h(
    "dl.arguments",
    pairs.map(([name, value]) => h("div", h("dt", inline(name, 60)), h("dd", plainValue(value)))),
  );
}

function plainValue(value) {
  return typeof value === "string" ? block(value, { kind: "code" }) : h("code", String(value));
}

/** What a tool returned: JSON in lines, and what lies in the envelope of untrusted text without it. */
function returned(text) {
  const value = parsed(text);
  if (value === undefined) return block(text, { kind: "code" });
  const isEnvelope = typeof value.untrusted_source === "string" && typeof value.content === "string";
  if (!isEnvelope) return json(value);
  const inner = parsed(value.content);
  return inner === undefined ? block(value.content, { kind: "code" }) : json(inner);
}

/** The object or list that a text is, if it is one. */
function parsed(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Something under a line that says what it is, made only once it is opened. `name` finds it again when redrawn. */
export function folded(summary, name, make) {
  const details = h("details", { dataset: { fold: name } }, h("summary", summary));
  let isMade = false;
  details.addEventListener("toggle", () => {
    if (isMade || !details.open) return;
    isMade = true;
    details.append(h("div.unfolded", make()));
  });
  return details;
}

/** Put a node in another's place, with the same things unfolded. */
export function replaceUnfolded(old, node) {
  for (const { dataset } of old.querySelectorAll("details[data-fold][open]")) {
    const same = [...node.querySelectorAll("details[data-fold]")].find(
      (details) => details.dataset.fold === dataset.fold,
    );
    if (same) same.open = true;
  }
  const held = old.contains(document.activeElement);
  old.replaceWith(node);
  if (held)
    (node.matches("[tabindex]") ? node : node.querySelector("[tabindex], a, button, summary"))?.focus({
      preventScroll: true,
    });
}

/** The parts of a message or a result. Reasoning is folded away; a call stands elsewhere, with its result. */
export function partNodes(parts, { kind = "prose" } = {}) {
  return parts.map((part, at) => PARTS[part.type]?.(part, at, kind) ?? null);
}

const PARTS = {
  text: (part, at, kind) => (kind === "code" ? returned(part.text) : block(part.text, { kind })),
  reasoning: (part, at) =>
    h(
      "div.reasoning",
      folded("Reasoning", `reasoning-${at}`, () => block(part.text)),
    ),
  media: mediaFigure,
  unknown: (part) => h("p.small.soft", "A part that is not known here: ", inline(part.about, 200)),
};

/** Names and values in a list; what has no value is left out. */
export function facts(rows) {
  const kept = rows.filter(
    ([, value]) => value !== null && value !== undefined && value !== "" && value !== false,
  );
  return h(
    "dl.facts",
    kept.map(([name, value]) => h("div", h("dt", name), h("dd", value))),
  );
}

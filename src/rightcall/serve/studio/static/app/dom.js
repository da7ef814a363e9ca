// The one place where elements are made. Stored text is hostile: here it becomes text nodes and nothing else, with
// a mark for every character that would not be seen.

import { pieces, spelled } from "./unseen.js";

const DRAWING = "http://www.w3.org/2000/svg";
const ADDRESSES = new Set(["href", "src"]);

/**
 * An element: `h("a.row", { href: "#/runs", onclick: open }, "Runs", icon)`.
 *
 * The first argument is a tag with classes. Strings and numbers become text; null and booleans become nothing.
 */
export function h(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElement(tag), classes, rest);
}

/** The same for drawings. */
export function svg(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElementNS(DRAWING, tag), classes, rest);
}

/** Put these in place of all that a node holds. */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(node, children));
  return node;
}

/** Put these after all that a node holds. */
export function add(node, ...children) {
  node.append(...nodes(node, children));
}

function filled(node, classes, rest) {
  if (classes.length) node.classList.add(...classes);
  const hasProperties = isProperties(rest[0]);
  if (hasProperties) for (const [name, value] of Object.entries(rest[0])) set(node, name, value);
  add(node, ...(hasProperties ? rest.slice(1) : rest));
  return node;
}

function isProperties(value) {
  return (
    value !== null && typeof value === "object" && !(value instanceof Node) && !Array.isArray(value)
  );
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "value") node.value = value;
  else if (name === "dataset") Object.assign(node.dataset, value);
  else if (ADDRESSES.has(name)) node.setAttribute(name, ownAddress(String(value)));
  else node.setAttribute(name, value === true ? "" : spelled(String(value)));
}

/** No address out of a run is ever followed: one leads within the studio, or it is not set. */
function ownAddress(address) {
  if (/^(#|\/(?!\/))/.test(address)) return address;
  throw new Error(`not an address of the studio: ${address.slice(0, 80)}`);
}

function nodes(parent, children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && typeof child !== "boolean")
    .flatMap((child) => (child instanceof Node ? child : written(parent, String(child))));
}

/** Text as nodes. A drawing holds no marks, so there they are spelt out. */
function written(parent, text) {
  if (parent.namespaceURI === DRAWING) return document.createTextNode(spelled(text));
  return pieces(text).map((piece, at) => (at % 2 ? mark(piece) : document.createTextNode(piece)));
}

function mark(character) {
  return h("span.mark", { title: "a character that would not be seen" }, spelled(character));
}

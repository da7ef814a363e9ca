// The one place where elements are made. Stored text is hostile: here it becomes text nodes and nothing else.

const ADDRESS = new Set(["href", "src"]);

/**
 * An element: `h("a.row", { href: "#/runs", onclick: open }, "Runs", icon)`.
 *
 * The first argument is a tag with classes. Strings and numbers become text; null and false become nothing.
 */
export function h(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElement(tag), classes, rest);
}

/** The same for drawings. */
export function svg(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), classes, rest);
}

/** Put these in place of all that a node holds. */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

function filled(node, classes, rest) {
  if (classes.length) node.classList.add(...classes);
  const [first] = rest;
  if (isProperties(first)) {
    for (const [name, value] of Object.entries(first)) set(node, name, value);
    rest = rest.slice(1);
  }
  node.append(...nodes(rest));
  return node;
}

function isProperties(value) {
  return (
    value !== null && typeof value === "object" && !(value instanceof Node) && !Array.isArray(value)
  );
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) return node.addEventListener(name.slice(2), value);
  if (name === "value") return void (node.value = value);
  if (name === "dataset") return void Object.assign(node.dataset, value);
  if (ADDRESS.has(name)) requireOwnAddress(String(value));
  node.setAttribute(name, value === true ? "" : String(value));
}

/** No address out of a run is ever followed: a link leads within the studio, or it is not made. */
function requireOwnAddress(address) {
  if (!/^(#|\/(?!\/))/.test(address))
    throw new Error(`not an address of the studio: ${address.slice(0, 80)}`);
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

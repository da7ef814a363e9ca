// A conversation of any length. It is cut into windows that are fetched when they come near the screen, so that a
// run of a thousand turns opens as fast as one of three.

import { add, h } from "../dom.js";
import { itemNode } from "./item.js";
import { replaceUnfolded } from "./values.js";

export const WINDOW = 40;
const GUESS = 190;
const NEAR = "1200px";

/** `load(from, count)` gives items; `actions` is what the items offer. */
export class Conversation {
  constructor(load, actions, signal) {
    this.load = load;
    this.actions = { ...actions, isWalked: true };
    this.signal = signal;
    this.total = 0;
    this.windows = [];
    this.nodes = new Map();
    this.streaming = null;
    this.node = h("div.items", { role: "feed", "aria-label": "Conversation", "aria-busy": "false" });
    this.sight = new IntersectionObserver((seen) => this.cameNear(seen), { rootMargin: NEAR });
    signal.addEventListener("abort", () => this.sight.disconnect());
  }

  /** So many items are there; windows that were not there yet wait until they come near. */
  grow(total) {
    this.total = Math.max(this.total, total);
    while (this.windows.length * WINDOW < this.total) {
      const place = h("div.window", { dataset: { window: this.windows.length } });
      this.windows.push({ place, loading: null });
      this.node.insertBefore(place, this.streaming?.node ?? null);
      this.sight.observe(place);
    }
    for (const [at, { place, loading }] of this.windows.entries()) {
      if (!loading) place.style.minHeight = `${GUESS * Math.min(WINDOW, this.total - at * WINDOW)}px`;
    }
  }

  /** A window that is at hand already. */
  seed(from, items) {
    if (!items.length) return;
    this.windows[Math.floor(from / WINDOW)].loading = Promise.resolve();
    this.draw(items.map((item, n) => ({ place: from + n, ...item })));
  }

  /** Items that are new or have changed. Those of a window that nobody came near will be fetched as they are by then. */
  async update(items) {
    for (const item of items) {
      this.grow(item.place + 1);
      const { loading } = this.windows[Math.floor(item.place / WINDOW)];
      if (!loading) continue;
      await loading;
      this.draw([item]);
    }
  }

  draw(items) {
    for (const item of items) {
      const node = itemNode(item, this.actions);
      const old = this.nodes.get(item.id);
      node.dataset.place = item.place;
      node.setAttribute("aria-posinset", item.place + 1);
      node.setAttribute("aria-setsize", this.total);
      this.nodes.set(item.id, node);
      const { place } = this.windows[Math.floor(item.place / WINDOW)];
      place.style.minHeight = "";
      if (old) replaceUnfolded(old, node);
      else
        place.insertBefore(
          node,
          [...place.children].find((other) => Number(other.dataset.place) > item.place) ?? null,
        );
    }
  }

  /** See that an item is there, and bring it to the top of the window. */
  async reveal(place) {
    const at = Math.floor(place / WINDOW);
    if (at < 0 || at >= this.windows.length) return;
    await this.fetch(at);
    const node = this.windows[at].place.querySelector(`[data-place="${place}"]`);
    node?.scrollIntoView({ block: "start" });
    node?.focus({ preventScroll: true });
    // What is fetched above and below pushes it away again: hold on until that has settled.
    await Promise.all(
      [at - 1, at + 1]
        .filter((near) => near >= 0 && near < this.windows.length)
        .map((near) => this.fetch(near)),
    );
    node?.scrollIntoView({ block: "start" });
  }

  /** More of a reply that is being written; the item itself takes its place when it is whole. */
  stream({ turn, kind, text, name, index }) {
    if (this.streaming?.turn !== turn) this.endStream();
    this.streaming ??= this.beginStream(turn);
    if (kind === "start") return;
    const { node, pieces } = this.streaming;
    const key = `${kind}-${index ?? 0}`;
    if (!pieces.has(key)) {
      const piece = h(`div.stored.${kind === "call" ? "code" : "prose"}`, { dir: "auto" });
      pieces.set(key, piece);
      node.append(
        kind === "text"
          ? piece
          : h("div", h("p.small.soft", kind === "call" ? `calls ${name}` : "Reasoning"), piece),
      );
    }
    add(pieces.get(key), text);
  }

  endStream() {
    this.streaming?.node.remove();
    this.streaming = null;
  }

  beginStream(turn) {
    const node = h(
      "article.item.turn.writing",
      { "aria-label": `Turn ${turn}, being written` },
      h(
        "header.item-head",
        h("h3", `Turn ${turn}`),
        h("span.badge.live", h("span.dot.pulse"), "writing"),
      ),
    );
    this.node.append(node);
    return { turn, node, pieces: new Map() };
  }

  cameNear(seen) {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) this.fetch(Number(target.dataset.window));
  }

  async fetch(at) {
    const window = this.windows[at];
    if (!window.loading) {
      this.node.setAttribute("aria-busy", "true");
      window.loading = this.load(at * WINDOW, WINDOW).then(
        (items) =>
          this.signal.aborted ||
          this.draw(items.map((item, n) => ({ place: at * WINDOW + n, ...item }))),
      );
    }
    await window.loading;
    this.node.setAttribute("aria-busy", "false");
  }
}

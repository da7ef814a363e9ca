// A conversation of any length. It is cut into windows that are fetched when they come near the screen, so that a
// run of a thousand turns opens as fast as one of three.

import { fill, h } from "../dom.js";
import { itemNode } from "./item.js";
import { replaceUnfolded } from "./values.js";
import { Writing } from "./writing.js";

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
    this.windowed = h("div");
    this.writing = new Writing();
    this.node = h(
      "div.items",
      { role: "feed", "aria-label": "Conversation" },
      this.windowed,
      this.writing.node,
    );
    this.sight = new IntersectionObserver((seen) => this.cameNear(seen), { rootMargin: NEAR });
    signal.addEventListener("abort", () => this.sight.disconnect());
  }

  /** So many items are there; windows that were not there yet wait until they come near. */
  grow(total) {
    this.total = Math.max(this.total, total);
    while (this.windows.length * WINDOW < this.total) {
      const place = h("div.window", { dataset: { window: this.windows.length } });
      this.windows.push({ place, loading: null });
      this.windowed.append(place);
      this.sight.observe(place);
    }
    for (const [at, { place, loading }] of this.windows.entries()) {
      if (!loading) place.style.minHeight = `${GUESS * Math.min(WINDOW, this.total - at * WINDOW)}px`;
    }
  }

  /** A window that is at hand already. */
  seed(from, items) {
    if (!items.length) return;
    this.windows[from / WINDOW].loading = Promise.resolve();
    items.forEach((item) => this.draw(item));
  }

  /** Items that are new or have changed; what stands in a window that nobody came near is fetched later. */
  async update(items, total) {
    this.writing.end();
    this.grow(total);
    for (const item of items) {
      const { loading } = this.windows[Math.floor(item.place / WINDOW)];
      if (!loading) continue;
      await loading;
      this.draw(item);
    }
  }

  /** Bring an item to the top of the screen. */
  async reveal(place) {
    const at = Math.floor(place / WINDOW);
    if (!(at in this.windows)) return;
    await this.fetch(at);
    const node = this.windows[at].place.querySelector(`[data-place="${place}"]`);
    node?.scrollIntoView({ block: "start" });
    node?.focus({ preventScroll: true });
    // What is fetched above and below pushes it away again, until that has settled.
    await Promise.all(
      [at - 1, at + 1].filter((near) => near in this.windows).map((near) => this.fetch(near)),
    );
    node?.scrollIntoView({ block: "start" });
  }

  cameNear(seen) {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) this.fetch(Number(target.dataset.window));
  }

  async fetch(at) {
    const window = this.windows[at];
    window.loading ??= this.load(at * WINDOW, WINDOW).then(
      (items) => items.forEach((item) => this.draw(item)),
      (error) => this.signal.aborted || fill(window.place, h("p.fault", error.message)),
    );
    await window.loading;
  }

  draw(item) {
    const { place } = item;
    const node = itemNode(item, this.actions);
    const old = this.nodes.get(item.id);
    node.hidden = this.actions.isHidden?.(item) ?? false;
    node.dataset.place = place;
    node.setAttribute("aria-posinset", place + 1);
    node.setAttribute("aria-setsize", this.total);
    this.nodes.set(item.id, node);
    const window = this.windows[Math.floor(place / WINDOW)].place;
    window.style.minHeight = "";
    if (old) return replaceUnfolded(old, node);
    const after = [...window.children].find((other) => Number(other.dataset.place) > place);
    window.insertBefore(node, after ?? null);
  }
}

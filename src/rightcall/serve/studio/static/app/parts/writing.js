// A reply while it is being written, piece by piece; the turn itself takes its place when it is whole.

import { add, fill, h } from "../dom.js";
import { inline } from "../stored.js";

const HEADS = { reasoning: () => "Reasoning", call: (name) => ["Calls ", h("code", inline(name, 80))] };

export class Writing {
  constructor() {
    this.node = h("div");
    this.end();
  }

  /** More of it: a piece of text, of reasoning or of a call's arguments. `start` only says that a turn begins. */
  take({ turn, kind, text, name, index = 0 }) {
    if (this.turn !== turn) this.begin(turn);
    if (kind === "start") return;
    const key = `${kind}-${index}`;
    if (!this.pieces.has(key)) this.pieces.set(key, this.openPiece(kind, name));
    add(this.pieces.get(key), text);
  }

  end() {
    this.turn = null;
    this.pieces = new Map();
    fill(this.node);
  }

  begin(turn) {
    this.end();
    this.turn = turn;
    const state = h("span.badge.live", h("span.dot.pulse"), "writing");
    const head = h("header.item-head", h("h3", `Turn ${turn}`), state);
    this.article = h("article.item.turn.writing", { "aria-label": `Turn ${turn}, being written` }, head);
    fill(this.node, this.article);
  }

  openPiece(kind, name) {
    const piece = h(`div.stored.${kind === "call" ? "code" : "prose"}`, { dir: "auto" });
    add(this.article, h("div", kind in HEADS && h("p.small.soft", HEADS[kind](name)), piece));
    return piece;
  }
}

// One run: its conversation, its timeline and its figures, live while it goes on.

import { announce } from "../announce.js";
import { at, get, post, unasked } from "../api.js";
import { fill, h } from "../dom.js";
import { several } from "../format.js";
import { throttled, watch } from "../live.js";
import { Conversation, WINDOW } from "../parts/conversation.js";
import { exportMenu } from "../parts/export_menu.js";
import { isDurable, openFork } from "../parts/fork_dialog.js";
import { openPicker } from "../parts/run_picker.js";
import { openReplay } from "../parts/replay_dialog.js";
import { runFigures, runSetup, runTitle } from "../parts/run_head.js";
import { openSent } from "../parts/sent_dialog.js";
import { timeline } from "../parts/timeline.js";
import { address } from "../router.js";
import { inline } from "../stored.js";

const CLOSE = 240;
const PATIENCE = 1500;

export async function show(place, { query, session, signal }) {
  const name = query.get("run") ?? "";
  const wanted = Number(query.get("place") ?? 0);
  const from = Math.floor(wanted / WINDOW) * WINDOW;
  const run = await get("/api/run", { run: name, from, count: WINDOW }, signal);
  const view = new RunView(name, run, session, signal);
  fill(place, view.node);
  view.conversation.grow(run.items_total);
  view.conversation.seed(from, run.items);
  if (wanted) view.conversation.reveal(wanted);
  unasked(view.drawTimeline());
  view.follow(run.version);
  return run.row.prompt || run.row.shown;
}

class RunView {
  constructor(name, run, session, signal) {
    this.name = name;
    this.signal = signal;
    this.title = h("div");
    this.figures = h("div");
    this.times = h("div.times");
    this.zoom = { scale: 1, middle: 0.5 };
    this.waits = h("div");
    this.connection = h(
      "p.caution",
      { role: "status", hidden: true },
      "The connection to the studio is lost. What is shown may be old.",
    );
    this.below = h(
      "button.main.below",
      { type: "button", hidden: true, onclick: () => this.toEnd() },
      "Newer below ↓",
    );
    this.stop = h("button.refuse", { type: "button", onclick: () => this.end() }, "Stop");
    this.canWrite = session.can_write;
    const actions = {
      onSent: (item) => openSent(name, item),
      onFork: (item) => openFork(this.row, session, { turn: item.turn }),
      onEdit: isDurable(session) ? null : (item) => openFork(this.row, session, { message: item }),
    };
    this.conversation = new Conversation((from, count) => this.load(from, count), actions, signal);
    this.node = h(
      "div",
      h("p.small", h("a", { href: "#/runs", dataset: { up: "" } }, "← Runs")),
      h("div.view-head", this.title, h("div.line", this.stop, this.buttons(run.row, session))),
      this.connection,
      this.waits,
      this.times,
      h(
        "div.run-columns",
        h(
          "section",
          { "aria-label": "Conversation" },
          h("h2.unseen", "Conversation"),
          this.conversation.node,
          this.below,
        ),
        h("aside", { "aria-label": "About this run" }, this.figures, runSetup(run)),
      ),
    );
    this.showRow(run.row);
    this.showWaiting(run.pending);
    this.refreshTimes = throttled(() => unasked(this.drawTimeline()), PATIENCE);
    addEventListener("scroll", () => this.isAtEnd() && (this.below.hidden = true), {
      signal,
      passive: true,
    });
  }

  buttons(row, session) {
    return [
      h(
        "button",
        {
          type: "button",
          onclick: () =>
            openPicker(
              "Compare with",
              (other) => (location.hash = address("compare", { a: row.run, b: other.run })),
            ),
        },
        "Compare",
      ),
      h("button", { type: "button", onclick: () => openReplay(row, session) }, "Replay"),
      isDurable(session)
        ? h("span.small.soft", "A durable run is forked from one of its turns.")
        : h("button", { type: "button", onclick: () => openFork(row, session, {}) }, "Fork"),
      exportMenu(row.run),
    ];
  }

  /** Have it stopped: a run of this studio's own. Whoever else holds one must stop it there. */
  async end() {
    this.stop.hidden = true;
    try {
      await post("/api/run/stop", { run: this.name });
      fill(
        this.waits,
        h(
          "p.notice",
          { role: "status" },
          "It was stopped. Its program can go on with it from its record.",
        ),
      );
    } catch (error) {
      fill(this.waits, h("p.caution", { role: "status" }, inline(error.message)));
    }
  }

  async load(from, count) {
    const page = await get("/api/run", { run: this.name, from, count }, this.signal);
    return page.items;
  }

  async drawTimeline() {
    const found = await get("/api/run/timeline", { run: this.name }, this.signal);
    const reveal = ({ place }) => place !== null && this.conversation.reveal(place);
    this.times.hidden = found.spans.length === 0;
    fill(this.times, timeline(found, reveal, this.zoom));
  }

  /** Whatever is recorded from now on. */
  follow(version) {
    let seen = version;
    const where = () => at("/api/run/events", { run: this.name, version: seen });
    const handlers = {
      items: (change) => {
        seen = change.version;
        this.change(change);
      },
      ended: (stands) => this.showRow({ ...this.row, ...stands }),
      delta: (delta) => this.keepingEnd(() => this.conversation.writing.take(delta), true),
    };
    watch(where, handlers, this.signal, (state) => (this.connection.hidden = state === "open"));
  }

  change({ row, items, items_total: total, pending }) {
    this.showRow(row);
    this.showWaiting(pending);
    this.refreshTimes();
    const hasGrown = total > this.conversation.total;
    this.keepingEnd(() => this.conversation.update(items, total), hasGrown);
    const last = items.at(-1);
    if (last?.kind === "turn" && last.state === "replied")
      announce(`Turn ${last.turn}: ${several(last.calls.length, "call")}.`);
    if (last?.kind === "event") announce(last.title);
  }

  /** Whoever reads the end goes on reading it; whoever reads elsewhere is told that there is more. */
  async keepingEnd(change, hasGrown) {
    const wasAtEnd = this.isAtEnd();
    await change();
    if (wasAtEnd && hasGrown) this.toEnd();
    else if (hasGrown) this.below.hidden = false;
  }

  isAtEnd() {
    return innerHeight + scrollY > document.documentElement.scrollHeight - CLOSE;
  }

  toEnd() {
    scrollTo(0, document.documentElement.scrollHeight);
    this.below.hidden = true;
  }

  showRow(row) {
    this.row = row;
    fill(this.title, runTitle(row));
    fill(this.figures, runFigures(row));
    this.stop.hidden = !this.canWrite || row.state !== "running";
  }

  showWaiting(pending) {
    const link = h("a.button", { href: address("approve", { run: this.name }) }, "Decide");
    fill(
      this.waits,
      pending.length > 0 &&
        h(
          "p.caution.line",
          `${several(pending.length, "call waits", "calls wait")} for a person.`,
          link,
        ),
    );
  }
}

// Every run of the journal: those under way on top, then the newest; searched and filtered by the server's index.

import { announce } from "../announce.js";
import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { count, several } from "../format.js";
import { throttled } from "../live.js";
import { asked, runFilters } from "../parts/run_filters.js";
import { runRow } from "../parts/run_row.js";
import { address, rename } from "../router.js";

const PAGE = 50;
const PATIENCE = 1000;

export async function show(place, { query, session, signal }) {
  const list = new RunList(session, signal);
  const filters = await runFilters(query, signal, (chosen) => {
    rename(address("runs", chosen));
    list.load(chosen);
  });
  fill(place, h("div.view-head", h("h1", "Runs"), list.total), filters.node, list.node);
  await list.load(filters.chosen());
  const refresh = throttled(() => signal.aborted || list.refresh(), PATIENCE);
  for (const name of ["runs", "index"]) addEventListener(name, refresh, { signal });
  return "Runs";
}

/** The rows on the page. What is shown is what the server said last; rows that did not change stay as they are. */
class RunList {
  constructor(session, signal) {
    this.session = session;
    this.signal = signal;
    this.chosen = {};
    this.next = null;
    this.later = [];
    this.kept = new Map();
    this.total = h("p.soft", { role: "status" });
    this.live = h("ol.run-list", { "aria-label": "Runs under way" });
    this.rows = h("ol.run-list", { "aria-label": "Runs" });
    this.nothing = h("div.empty", { hidden: true });
    this.more = h(
      "button",
      { type: "button", hidden: true, onclick: () => this.loadMore() },
      "Show more",
    );
    this.now = h(
      "section.under-way",
      { "aria-labelledby": "under-way", hidden: true },
      h("h2", { id: "under-way" }, "Under way"),
      this.live,
    );
    this.node = h("div", this.now, this.rows, this.nothing, h("div.more", this.more));
    new IntersectionObserver(([seen]) => seen.isIntersecting && !this.more.hidden && this.loadMore(), {
      rootMargin: "400px",
    }).observe(this.more);
  }

  /** The first page for these filters. */
  async load(chosen) {
    this.chosen = chosen;
    this.later = [];
    await this.refresh();
    announce(this.total.textContent);
  }

  /** The first page again, as it is now; pages that were loaded after it stay below. */
  async refresh() {
    const { chosen } = this;
    const page = await this.fetch();
    if (!page || chosen !== this.chosen) return;
    const first = new Set([...page.live, ...page.runs].map((row) => row.run));
    this.later = this.later.filter((row) => !first.has(row.run));
    if (!this.later.length) this.next = page.next;
    this.draw(this.live, page.live);
    this.draw(this.rows, [...page.runs, ...this.later]);
    this.now.hidden = page.live.length === 0;
    this.more.hidden = this.next === null;
    fill(this.total, this.totalWords(page));
    this.showNothing(page.live.length + page.runs.length === 0);
  }

  async loadMore() {
    if (this.more.disabled) return;
    this.more.disabled = true;
    const { chosen } = this;
    const page = await this.fetch(this.next);
    this.more.disabled = false;
    if (!page || chosen !== this.chosen) return;
    this.later.push(...page.runs);
    this.next = page.next;
    this.more.hidden = this.next === null;
    this.rows.append(...page.runs.map((row) => this.nodeOf(row)));
  }

  async fetch(before = null) {
    try {
      return await get("/api/runs", { ...asked(this.chosen), before, count: PAGE }, this.signal);
    } catch (error) {
      if (this.signal.aborted) return null;
      fill(this.total, error.message);
      return null;
    }
  }

  /** Put these rows into the list, and leave the focus on the run that has it. */
  draw(list, rows) {
    const focused = list.contains(document.activeElement)
      ? document.activeElement.getAttribute("href")
      : null;
    const nodes = rows.map((row) => this.nodeOf(row));
    const stay =
      nodes.length === list.children.length && nodes.every((node, at) => node === list.children[at]);
    if (stay) return;
    list.replaceChildren(...nodes);
    if (focused)
      [...list.querySelectorAll("a")]
        .find((link) => link.getAttribute("href") === focused)
        ?.focus({ preventScroll: true });
  }

  nodeOf(row) {
    const key = JSON.stringify(row);
    const kept = this.kept.get(row.run);
    if (kept?.key === key) return kept.node;
    const node = runRow(row);
    this.kept.set(row.run, { key, node });
    return node;
  }

  showNothing(isEmpty) {
    this.nothing.hidden = !isEmpty;
    if (!isEmpty) return;
    if (Object.keys(this.chosen).length)
      fill(
        this.nothing,
        h("h2", "No run fits"),
        h("p", "Take a filter away, or search for other words."),
      );
    else
      fill(
        this.nothing,
        h("h2", "No runs yet"),
        h("p", "Runs appear here as soon as an agent writes to this journal."),
      );
  }

  /** How many there are; while a large journal is read for the first time, how far that is. */
  totalWords({ total, total_is_exact: isExact }) {
    const { ready, progress, runs } = this.session.index;
    if (!ready) return `reading the journal: ${Math.round(progress * 100)}%, ${count(runs)} runs so far`;
    return `${isExact ? "" : "about "}${several(total, "run")}`;
  }
}

// The frame: which view an address means, one at a time, each ended before the next begins.

import { announce } from "./announce.js";
import { openSession, Refused } from "./api.js";
import { fill, h } from "./dom.js";
import { several } from "./format.js";
import { listenForKeys, showKeys } from "./keys.js";
import { watch } from "./live.js";
import { parse } from "./router.js";
import { clipped, inline } from "./stored.js";
import { offerTheme } from "./theme.js";
import { spelled } from "./unseen.js";

const VIEWS = {
  runs: () => import("./views/runs.js"),
  run: () => import("./views/run.js"),
  approve: () => import("./views/approve.js"),
  compare: () => import("./views/compare.js"),
  tools: () => import("./views/tools.js"),
  try: () => import("./views/try.js"),
};
const MENU = { run: "runs" };

const content = document.getElementById("content");
let shown = new AbortController();
let isFirst = true;

/** Show what the address says. A view draws into its place, and stops everything when its signal aborts. */
async function show(session) {
  shown.abort();
  content.setAttribute("aria-busy", "true");
  const { signal } = (shown = new AbortController());
  const where = parse(location.hash);
  markMenu(MENU[where.view] ?? where.view);
  if (!(where.view in VIEWS)) {
    fill(content, trouble("There is no such page", ""));
    return entered("No such page");
  }
  try {
    const view = await VIEWS[where.view]();
    const place = h("div.view");
    if (signal.aborted) return;
    fill(content, place);
    scrollTo(0, 0);
    const title = await view.show(place, { query: where.query, session, signal });
    if (!signal.aborted) entered(title);
  } catch (error) {
    if (signal.aborted) return;
    fill(content, trouble("This cannot be shown", error.message));
    entered("This cannot be shown");
    if (!(error instanceof Refused)) throw error;
  }
}

/** The first page reads as any page does; from then on, the focus goes where the eyes go. */
function entered(title) {
  content.setAttribute("aria-busy", "false");
  document.title = spelled(`${clipped(title, 80)} – rightcall studio`);
  if (!isFirst) {
    if (!content.contains(document.activeElement)) content.focus({ preventScroll: true });
    announce(clipped(title, 80));
  }
  isFirst = false;
}

function markMenu(view) {
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function trouble(heading, words) {
  return h(
    "div.empty",
    { role: "alert" },
    h("h1", heading),
    h("p", inline(words)),
    h("p", h("a", { href: "#/runs" }, "All runs")),
  );
}

/** How many calls wait, beside the menu's word for where they are decided. */
function showWaiting(number) {
  const badge = document.getElementById("waiting");
  const before = Number(badge.dataset.number ?? 0);
  badge.hidden = number === 0;
  badge.dataset.number = number;
  fill(badge, number, h("span.unseen", " waiting"));
  if (number > before) announce(`${several(number, "call waits", "calls wait")} for a decision.`);
}

/** One stream for the whole page; views listen for `runs` and `pending` on the window. */
function watchAll(session) {
  const tell = (name) => (detail) => dispatchEvent(new CustomEvent(name, { detail }));
  addEventListener("pending", ({ detail }) => showWaiting(detail.count));
  addEventListener("index", ({ detail }) => (session.index = detail));
  watch(
    () => "/api/runs/events",
    { runs: tell("runs"), pending: tell("pending"), index: tell("index") },
    new AbortController().signal,
  );
}

async function begin() {
  listenForKeys();
  offerTheme(document.getElementById("theme"));
  document.getElementById("help").addEventListener("click", showKeys);
  document.getElementById("skip").addEventListener("click", () => content.focus());
  let session;
  try {
    session = await openSession();
  } catch (error) {
    return fill(content, trouble("The studio cannot be opened", error.message));
  }
  fill(
    document.getElementById("about"),
    inline(session.journal, 60),
    session.can_write || h("span.badge", "read-only"),
  );
  addEventListener("hashchange", () => show(session));
  await show(session);
  watchAll(session);
}

begin();

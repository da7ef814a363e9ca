// Two runs side by side, step by step; what is the same is folded away, the first difference is marked.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { several, words } from "../format.js";
import { runFigures } from "../parts/run_head.js";
import { runPicker } from "../parts/run_picker.js";
import { stateBadge } from "../parts/badges.js";
import { itemNode } from "../parts/item.js";
import { folded } from "../parts/values.js";
import { address } from "../router.js";
import { block, inline } from "../stored.js";

export async function show(place, { query, signal }) {
  const [a, b] = [query.get("a"), query.get("b")];
  if (!a || !b) fill(place, h("div.view-head", h("h1", "Compare")), choose(a, b));
  else fill(place, await compared(a, b, signal));
  return "Compare";
}

/** Pickers for what is not chosen yet; the address keeps what is. */
function choose(a, b) {
  const side = (id, label, chosen, next) =>
    chosen
      ? h("div.field", h("p", `${label}: `, inline(chosen, 80)), h("a", { href: next(null) }, "Another"))
      : runPicker(id, label, (row) => (location.hash = next(row.run)));
  return h(
    "div.two",
    side("pick-a", "First run", a, (run) => address("compare", { a: run, b })),
    side("pick-b", "Second run", b, (run) => address("compare", { a, b: run })),
  );
}

async function compared(a, b, signal) {
  const found = await get("/api/compare", { a, b }, signal);
  const toFirst = () => {
    const mark = document.getElementById("first-difference");
    mark?.scrollIntoView({ block: "center" });
    mark?.focus();
  };
  return h(
    "div",
    h(
      "div.view-head",
      h("h1", "Compare"),
      verdict(found),
      h(
        "div.line",
        found.first !== null &&
          h("button.main", { type: "button", onclick: toFirst }, "To the first difference"),
        h("a.button", { href: address("compare", { a: b, b: a }) }, "Swap"),
        h("a.button", { href: address("compare", { a }) }, "Another second"),
      ),
    ),
    h("div.two.heads", head(found.a), head(found.b)),
    found.setup.length > 0 &&
      h(
        "section",
        { "aria-label": "Set up differently" },
        h("h2", "Set up differently"),
        found.setup.map(setupRow),
      ),
    h("section.pairs", { "aria-label": "Steps" }, stretches(found)),
  );
}

function verdict({ pairs, first }) {
  return h(
    "p.soft",
    { role: "status" },
    first === null
      ? `The same in all ${several(pairs.length, "step")}.`
      : `The first difference is in step ${first + 1} of ${pairs.length}.`,
  );
}

function head(row) {
  return h(
    "div.compare-head",
    h("h2", h("a", { href: address("run", { run: row.run }) }, inline(row.prompt || row.shown, 120))),
    h("p.line", stateBadge(row), h("span.soft", inline(row.shown, 60))),
    runFigures(row),
  );
}

function setupRow({ what, a, b }) {
  return h(
    "div.pair.differs",
    h("h3", words(what)),
    h("div.two", h("div", block(String(a ?? ""))), h("div", block(String(b ?? "")))),
  );
}

/** Stretches of the same steps under one line each; steps that differ in full. */
function stretches({ pairs, first }) {
  const nodes = [];
  let same = [];
  const flush = () => {
    if (!same.length) return;
    const kept = same;
    const summary =
      kept.length === 1
        ? `Step ${kept[0][0] + 1} is the same`
        : `Steps ${kept[0][0] + 1} to ${kept.at(-1)[0] + 1} are the same`;
    nodes.push(
      h(
        "div.same",
        folded(summary, `same-${kept[0][0]}`, () =>
          h(
            "div.items",
            kept.map(([, pair]) => itemNode(pair.a)),
          ),
        ),
      ),
    );
    same = [];
  };
  pairs.forEach((pair, at) => {
    if (pair.same) return same.push([at, pair]);
    flush();
    nodes.push(pairNode(pair, at, at === first));
  });
  flush();
  return nodes;
}

function whyWords({ a, b, differs }) {
  if (!a) return "only in the second";
  if (!b) return "only in the first";
  // Of two things that are not of one kind there is nothing to compare.
  return differs.includes("missing") ? "is something else" : `differs in ${differs.map(words).join(", ")}`;
}

function pairNode(pair, at, isFirst) {
  const why = whyWords(pair);
  const heading = h(
    "h3",
    isFirst && { id: "first-difference", tabindex: -1 },
    isFirst && h("span.badge.bad", "first difference"),
    `Step ${at + 1} `,
    h("span.soft", why),
  );
  const side = (item) => h("div.side", item ? itemNode(item) : h("p.empty", "Nothing here"));
  return h(
    isFirst ? "div.pair.differs.first" : "div.pair.differs",
    heading,
    h("div.two", side(pair.a), side(pair.b)),
  );
}

// What every tool was called, what came of it, how long it took, and what is wrong with its words.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { compact, count, moment, percent, seconds, several, words } from "../format.js";
import { openDialog } from "../parts/dialog.js";
import { outcomeBadge } from "../parts/badges.js";
import { durations } from "../parts/durations.js";
import { facts, folded, json } from "../parts/values.js";
import { address } from "../router.js";
import { block, inline } from "../stored.js";

const COLUMNS = [
  [
    "name",
    "Tool",
    (tool) =>
      h(
        "button.link",
        { type: "button", dataset: { walk: "" }, onclick: () => openTool(tool.name) },
        h("code", inline(tool.name, 60)),
      ),
  ],
  ["calls", "Calls", (tool) => count(tool.calls)],
  ["outcomes", "Outcomes", outcomes],
  ["invalid_rate", "Invalid", (tool) => percent(tool.invalid_rate)],
  ["error_rate", "Wrong", (tool) => percent(tool.error_rate)],
  ["p50", "p50", (tool) => seconds(tool.p50)],
  ["p95", "p95", (tool) => seconds(tool.p95)],
  ["tokens_per_call", "Tokens a call", (tool) => compact(tool.tokens_per_call)],
  ["spec_tokens", "Its words", (tool) => compact(tool.spec_tokens)],
  ["findings", "Findings", (tool) => (tool.findings ? h("span.badge.warn", tool.findings) : "–")],
];
const NUMERIC = new Set([
  "calls",
  "invalid_rate",
  "error_rate",
  "p50",
  "p95",
  "tokens_per_call",
  "spec_tokens",
]);

export async function show(place, { query, signal }) {
  const found = await get("/api/tools", {}, signal);
  const total = found.calls
    ? `${several(found.calls, "call")}; ${percent(found.invalid_rate)} with arguments that did not fit, ${percent(found.unknown_rate)} of tools that are not there`
    : "";
  fill(
    place,
    h("div.view-head", h("h1", "Tools"), h("p.soft", total)),
    found.tools.length ? sortable(found.tools) : nothing(),
    unknownNames(found.unknown),
  );
  if (query.get("name")) await openTool(query.get("name"));
  return "Tools";
}

/** A table that is sorted by pressing a column's head. */
function sortable(tools) {
  const body = h("tbody");
  let [by, isDown] = ["calls", true];
  const heads = COLUMNS.map(([key, label]) =>
    h(
      NUMERIC.has(key) ? "th.num" : "th",
      { scope: "col" },
      key === "outcomes" ? label : h("button.link", { type: "button", onclick: () => sort(key) }, label),
    ),
  );
  const sort = (key) => {
    isDown = key === by ? !isDown : key !== "name";
    by = key;
    draw();
  };
  const draw = () => {
    const sorted = [...tools].sort((one, other) => (isDown ? -1 : 1) * order(one[by], other[by]));
    fill(body, sorted.map(rowOf));
    heads.forEach((head, at) => {
      if (COLUMNS[at][0] === by) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  draw();
  return h(
    "div.scroll",
    { tabindex: 0, role: "group", "aria-label": "Tools" },
    h("table.tools", h("thead", h("tr", heads)), body),
  );
}

function rowOf(tool) {
  return h(
    "tr",
    COLUMNS.map(([key, , cell], at) =>
      h(at === 0 ? "th" : NUMERIC.has(key) ? "td.num" : "td", at === 0 && { scope: "row" }, cell(tool)),
    ),
  );
}

function order(one, other) {
  if (typeof one === "string") return one.localeCompare(other);
  return (one ?? -1) - (other ?? -1);
}

/** A bar in the proportions of the outcomes; the words say the numbers. */
function outcomes(tool) {
  const said = Object.entries(tool.outcomes).map(([kind, number]) => `${count(number)} ${words(kind)}`);
  const bar = h("span.shares", { "aria-hidden": "true" });
  for (const [kind, number] of Object.entries(tool.outcomes)) {
    const piece = h(`span.share.${kind}`);
    piece.style.flexGrow = number;
    bar.append(piece);
  }
  return [bar, h("span.small.soft", said.join(", "))];
}

async function openTool(name) {
  const body = h("div.stack", h("p.soft", "One moment …"));
  openDialog(`Tool ${name}`, body).classList.add("wide");
  try {
    fill(body, details(await get("/api/tool", { name })));
  } catch (error) {
    fill(body, h("p.fault", inline(error.message)));
  }
}

function details(tool) {
  return [
    tool.description && block(tool.description),
    facts([
      ["Calls", `${count(tool.calls)} in ${several(tool.runs, "run")}`],
      ["Effect", tool.effect],
      ["Reach", typeof tool.reach === "string" ? tool.reach : null],
      ["Tokens written", count(tool.tokens_in)],
      ["Tokens read", count(tool.tokens_out)],
      ["Last called", tool.last_at && moment(tool.last_at)],
    ]),
    tool.durations.length > 1 && durations(tool),
    findings(tool.findings),
    tool.parameters && folded("Its parameters", "parameters", () => json(tool.parameters)),
    tool.recent.length > 0 &&
      h("section", h("h3", "Called last"), h("ul.recent", tool.recent.map(recent))),
  ];
}

function findings(found) {
  if (!found.length) return h("p.small.soft", "Nothing is wrong with its words.");
  return h(
    "section",
    h("h3", "What is wrong with its words"),
    h(
      "ul.findings",
      found.map(({ rule, where, what, why, instead }) =>
        h(
          "li",
          h(
            "p",
            h("span.badge.warn", words(rule)),
            " ",
            where && h("code", inline(where, 80)),
            " ",
            inline(what, 400),
          ),
          why && h("p.small.soft", inline(why, 400)),
          instead && h("p.small", "Instead: ", inline(instead, 400)),
        ),
      ),
    ),
  );
}

function recent({ run, shown, outcome, seconds: took, arguments_text: text, at }) {
  return h(
    "li",
    outcomeBadge(outcome, "running"),
    h("a", { href: address("run", { run }) }, inline(shown, 40)),
    h("span.number.soft", seconds(took)),
    h("code", inline(text, 120)),
    h("time.small.soft", moment(at)),
  );
}

function unknownNames(unknown) {
  if (!unknown?.length) return null;
  return h(
    "section.unknown-names",
    h("h2", "Called, but not there"),
    h(
      "ul.line",
      unknown.map(({ name, calls }) => h("li.badge.warn", inline(name, 60), ` ${count(calls)}×`)),
    ),
  );
}

function nothing() {
  return h(
    "div.empty",
    h("h2", "No tool was called yet"),
    h("p", "Figures appear as soon as a run of this journal calls one."),
  );
}

// What a run was, before its conversation: where it stands, what it took, what it was given.

import { h } from "../dom.js";
import { compact, count, dollars, moment, percent, seconds, several, words } from "../format.js";
import { address } from "../router.js";
import { block, inline } from "../stored.js";
import { badge, stateBadge } from "./badges.js";
import { facts, folded, json } from "./values.js";

/** The heading, and the figures that change while it runs. */
export function runTitle(row) {
  return h(
    "div.run-title",
    h("h1", inline(row.prompt || row.shown, 200)),
    h(
      "p.line",
      stateBadge(row),
      row.tainted && h("span.trust.outside", "read outsiders’ text"),
      h("span.soft", inline(row.shown, 80)),
    ),
  );
}

export function runFigures(row) {
  const { usage } = row;
  return facts([
    ["Began", moment(row.at)],
    ["Took", seconds(row.seconds)],
    ["Agent", row.agent && inline(row.agent, 60)],
    ["Model", row.model && inline(row.model, 60)],
    ["Turns", count(row.turns)],
    [
      "Calls",
      `${count(row.calls)}${row.bad_calls ? `, ${several(row.bad_calls, "went wrong", "went wrong")}` : ""}`,
    ],
    ["Tokens", `${compact(usage.input_tokens)} in, ${compact(usage.output_tokens)} out`],
    ["Cached", usage.cached_tokens > 0 && percent(usage.cached_tokens / usage.input_tokens)],
    ["Reasoning", usage.reasoning_tokens > 0 && `${compact(usage.reasoning_tokens)} tokens`],
    ["Cost", dollars(usage.cost)],
    ["Stopped for", row.stop && words(row.stop)],
    ["Held by", row.holder && inline(row.holder, 60)],
    [
      "Forked from",
      row.parent && h("a", { href: address("run", { run: row.parent }) }, inline(row.parent_shown, 60)),
    ],
  ]);
}

/** What stays as it was when the run began. */
export function runSetup(run) {
  return h(
    "div.setup",
    run.dry_run && badge("dry run: nothing is changed", "muse"),
    run.system && folded("System prompt", "system", () => block(run.system)),
    run.tools.length > 0 &&
      folded(`${several(run.tools.length, "tool")} offered`, "tools", () =>
        h("ul.tool-list", run.tools.map(toolLine)),
      ),
    folded("Budget", "budget", () => json(run.budget)),
    run.grant && folded("Grant", "grant", () => json(run.grant)),
    run.wanted && folded("Output asked for", "wanted", () => json(run.wanted)),
    run.trust.note && h("p.small.soft", "Trust: ", inline(run.trust.note, 400)),
    run.forks.length > 0 &&
      h(
        "div",
        h("h3", "Forks"),
        h(
          "ul",
          run.forks.map((fork) =>
            h(
              "li",
              h("a", { href: address("run", { run: fork.run }) }, inline(fork.shown, 60)),
              " ",
              stateBadge(fork),
            ),
          ),
        ),
      ),
  );
}

function toolLine(tool) {
  return h(
    "li",
    folded(
      h(
        "span",
        h("code", inline(tool.name, 60)),
        tool.origin && h("span.small.soft", " from ", inline(tool.origin, 60)),
      ),
      `tool-${tool.name}`,
      () => [block(tool.description), json(tool.parameters)],
    ),
  );
}

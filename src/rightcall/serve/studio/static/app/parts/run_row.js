// One run in a list: what it was asked, what became of it, what it took.

import { h } from "../dom.js";
import { compact, dollars, moment, seconds, several, when } from "../format.js";
import { address } from "../router.js";
import { inline } from "../stored.js";
import { badge, stateBadge } from "./badges.js";

/** The row, as an item of a list. Its link can be walked to by the keyboard. */
export function runRow(row) {
  return h(
    "li.run-row",
    h(
      "div.run-what",
      h(
        "a.run-link",
        { href: address("run", { run: row.run }), dataset: { walk: "" } },
        inline(row.prompt || row.shown, 160),
      ),
      row.snippet ? snippet(row.snippet) : row.answer && h("p.run-answer", inline(row.answer, 160)),
      h("p.run-facts", factsOf(row)),
    ),
    h("div.run-state", stateBadge(row), row.pending > 0 && badge(`${row.pending} to decide`, "warn")),
    h(
      "dl.run-figures",
      figure("took", seconds(row.seconds)),
      figure("tokens", compact(row.usage.input_tokens + row.usage.output_tokens)),
      figure("cost", dollars(row.usage.cost)),
      figure("began", h("time", { title: moment(row.at) }, when(row.at))),
    ),
  );
}

function factsOf(row) {
  const bad =
    row.bad_calls > 0 && h("span.bad-calls", several(row.bad_calls, "went wrong", "went wrong"));
  const said = [
    inline(row.shown, 48),
    row.agent && inline(row.agent, 40),
    row.model && inline(row.model, 40),
    `${several(row.turns, "turn")}, ${several(row.calls, "call")}`,
    bad,
    row.tools.length > 0 &&
      h(
        "span",
        row.tools.slice(0, 4).map((name, at) => [at > 0 && ", ", h("code", inline(name, 40))]),
        row.tools.length > 4 && ` and ${row.tools.length - 4} more`,
      ),
    row.tainted && h("span.trust.outside", "read outsiders"),
    row.parent && h("span", "fork"),
  ];
  return said.filter(Boolean).map((piece) => h("span", piece));
}

function figure(name, value) {
  return h("div", h("dt", name), h("dd.number", value));
}

function snippet(pieces) {
  return h(
    "p.run-answer",
    h(
      "bdi",
      pieces.map(([text, isMatch]) => (isMatch ? h("mark", text) : text)),
    ),
  );
}

// A call that waits for a person, with everything that is needed to decide. What may be strangers' words stands in
// frames; what stands outside of them is the studio's.

import { h } from "../dom.js";
import { block, inline } from "../stored.js";
import { badge } from "./badges.js";
import { diffNode } from "./diff.js";
import { evidenceTable, foreign } from "./trust.js";
import { folded, json } from "./values.js";

const SAYS = {
  allow: ["The rules allow it", "good"],
  ask: ["The rules leave it to a person", "warn"],
  deny: ["The rules are against it", "bad"],
  nothing: ["No rule speaks of it", ""],
  unknown: ["What the rules say is not known here", ""],
};

/** Everything about it but the decision. */
export function proposalNode(call) {
  const [says, kind] = SAYS[call.rules?.says] ?? SAYS.unknown;
  const values = call.values?.length ? call.values : call.evidence;
  return h(
    "div.proposal.stack",
    lines(call.lines),
    call.diff && diffNode(call.diff),
    h("p.line", badge(says, kind), call.rules?.words && inline(call.rules.words, 600)),
    call.reason && h("p", h("b", "Why you are asked: "), inline(call.reason, 1000)),
    values?.length > 0 && h("div", h("h4", "Where its values come from"), evidenceTable(values)),
    call.arguments &&
      folded("All arguments, as they would be run", "arguments", () => json(call.arguments)),
    call.description &&
      folded("What the tool says of itself", "description", () =>
        call.origin ? foreign(call.origin, block(call.description)) : block(call.description),
      ),
  );
}

/** Lines of the studio's as text, lines that may be anybody's as quotations. */
function lines(found = []) {
  const groups = [];
  for (const line of found) {
    const last = groups.at(-1);
    if (last?.isOutside === line.from_outside) last.texts.push(line.text);
    else groups.push({ isOutside: line.from_outside, texts: [line.text] });
  }
  return groups.map(({ isOutside, texts }) =>
    isOutside ? quotation(texts.join("\n")) : h("p.asking", inline(texts.join(" "), 1000)),
  );
}

function quotation(text) {
  return h(
    "figure.foreign.quoted",
    h("figcaption", "Quoted from the call: the model’s words, or those of whoever led it"),
    h("div.foreign-text", block(text, { kind: "code" })),
  );
}

// A call beside its result: what the model asked for, who decided, what came of it and who could have written that.

import { h } from "../dom.js";
import { count, dollars, seconds, several, words } from "../format.js";
import { block, clipped, inline } from "../stored.js";
import { badge, outcomeBadge } from "./badges.js";
import { evidenceTable, framed, labelBadges } from "./trust.js";
import { argumentsNode, folded, json, partNodes } from "./values.js";

const DECIDERS = { policy: "the policy", person: "a person", hook: "a hook" };
const DECIDED = { allow: "Allowed", deny: "Denied", rewrite: "Changed", answer: "Answered" };

/** `inner` draws the items of an agent that was handed a task. */
export function callNode(call, inner) {
  const label = `Call of ${clipped(call.name, 80)}`;
  return h(
    "section.call",
    { role: "group", "aria-label": label },
    asked(call),
    answered(call),
    call.inside && nested(call, inner),
  );
}

/** What the model wrote as arguments, also where that is no object. */
export function argumentsOf(call) {
  return call.arguments ? argumentsNode(call.arguments) : block(call.arguments_text, { kind: "code" });
}

function asked(call) {
  return h(
    "div.call-asked",
    h("h4", h("code", inline(call.name, 80)), call.early && badge("started early", "muse")),
    argumentsOf(call),
    call.repairs.length > 0 && h("ul.small.soft", call.repairs.map(repair)),
    call.decision && decision(call.decision),
  );
}

function answered(call) {
  const { result } = call;
  return h(
    "div.call-answered",
    h(
      "p.call-head",
      outcomeBadge(result?.outcome ?? call.refused, call.state),
      result && labelBadges(result.label),
      call.seconds > 0 && h("span.number", seconds(call.seconds)),
      call.attempts > 1 && h("span", `${call.attempts} attempts`),
    ),
    // Who decided has said why, and the model was told no more than that.
    call.why && !call.decision && h("p.refusal", h("b", "Why: "), inline(call.why, 2000)),
    result?.withheld && h("p.refusal", "It ran, and what it returned was withheld."),
    result?.outcome === "denied"
      ? folded("What the model was told", `told-${call.key}`, () => said(result))
      : result && said(result),
    result?.planted.length > 0 &&
      h("p.small.soft", "Written by this agent earlier: ", listed(result.planted)),
    result?.offers.length > 0 && h("p.small.soft", "Offers from now on: ", listed(result.offers)),
    call.original &&
      folded("The result as the tool gave it", `original-${call.key}`, () =>
        framed(call.original.label, partNodes(call.original.parts, { kind: "code" })),
      ),
    call.error &&
      folded(h("span", "Error: ", inline(call.cause || "traceback", 160)), `error-${call.key}`, () =>
        block(call.error, { kind: "code" }),
      ),
    call.usage &&
      h(
        "p.small.soft",
        `Spent ${count(call.usage.input_tokens + call.usage.output_tokens)} tokens, ${dollars(call.usage.cost)}`,
      ),
  );
}

function said(result) {
  return framed(result.label, partNodes(result.parts, { kind: "code" }));
}

function decision(made) {
  const why = made.why || made.reason;
  const scope =
    made.kind === "allow" && made.scope !== "once"
      ? ` for ${made.scope === "run" ? "this run" : "the same targets"}`
      : "";
  return h(
    `div.decision.${made.kind}`,
    h(
      "p",
      h("b", `${DECIDED[made.kind] ?? words(made.kind)}${scope}`),
      ` by ${DECIDERS[made.by] ?? made.by}`,
      why && [": ", inline(why, 600)],
    ),
    made.then && h("p", "And then: ", inline(made.then, 600)),
    made.text && h("p", "In its place: ", inline(made.text, 600)),
    made.kind === "rewrite" && made.arguments && json(made.arguments),
    made.evidence?.length > 0 &&
      folded(`Where ${several(made.evidence.length, "value")} came from`, "evidence", () =>
        evidenceTable(made.evidence),
      ),
  );
}

function repair({ path, before, after, removed }) {
  return h(
    "li",
    "Repaired ",
    h("code", inline(path, 80)),
    ": ",
    inline(JSON.stringify(before), 80),
    removed ? " left out" : [" → ", inline(JSON.stringify(after), 80)],
  );
}

function nested(call, inner) {
  const { agent, items } = call.inside;
  return h(
    "div.call-inside",
    folded(
      h("span", "Inside: ", h("b", inline(agent, 60)), `, ${several(items.length, "step")}`),
      `inside-${call.key}`,
      () => h("div.items", items.map(inner)),
    ),
  );
}

function listed(texts) {
  return texts.slice(0, 20).map((text, at) => [at > 0 && ", ", inline(text, 80)]);
}

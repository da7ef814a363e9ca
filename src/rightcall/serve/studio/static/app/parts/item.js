// The items of a conversation: what was said to the model, its turns with their calls, and what happened between.

import { h } from "../dom.js";
import { compact, count, dollars, moment, percent, seconds, words } from "../format.js";
import { block, inline } from "../stored.js";
import { badge } from "./badges.js";
import { argumentsOf, callNode } from "./call.js";
import { framed, labelBadges } from "./trust.js";
import { json, folded, partNodes } from "./values.js";

const SPEAKERS = {
  user: "User",
  developer: "Application",
  runtime: "rightcall",
  agent: "Another agent",
};
const SIGNS = { paused: "warn", failed: "bad", ended: "good", resumed: "live" };

/**
 * One item. `actions` may offer buttons: `onSent(item)`, `onFork(item)`, `onEdit(item)`; without them it is only looked at.
 * What is walked by keys is the items of the outermost conversation.
 */
export function itemNode(item, actions = {}) {
  const node = KINDS[item.kind](item, actions);
  if (actions.isWalked) {
    node.tabIndex = -1;
    node.dataset.walk = "";
  }
  return node;
}

const KINDS = { message, turn, event };

function message(item, { onEdit }) {
  const speaker = SPEAKERS[item.author] ?? words(item.author);
  return h(
    `article.item.message.${item.author}`,
    { "aria-label": `${speaker} says` },
    h(
      "header.item-head",
      h("h3", speaker),
      item.history && badge("from before this run"),
      item.label?.writer !== item.author && labelBadges(item.label),
      item.can_edit &&
        onEdit &&
        h(
          "div.item-acts",
          button("Edit and fork", () => onEdit(item)),
        ),
    ),
    partNodes(item.parts),
    item.calls?.map((call) => h("div.past", h("code", inline(call.name, 80)), argumentsOf(call))),
    item.results?.map((result) =>
      h(
        "div.past",
        h("code", inline(result.name, 80)),
        framed(result.label, partNodes(result.parts, { kind: "code" })),
      ),
    ),
  );
}

function turn(item, { onSent, onFork }) {
  return h(
    `article.item.turn.${item.state}`,
    { "aria-label": `Turn ${item.turn}` },
    h(
      "header.item-head",
      h("h3", { title: item.at ? moment(item.at) : "" }, `Turn ${item.turn}`),
      item.state === "asking" && badge("asking", "live", true),
      item.state === "broken" && badge("broke off", "bad"),
      figures(item),
      h(
        "div.item-acts",
        onSent && button("What was sent", () => onSent(item)),
        onFork && button("Fork from here", () => onFork(item)),
      ),
    ),
    item.passed_over.map(passedOver),
    item.is_cut &&
      h("p.cut", `The window was cut: ${item.sent_messages} of ${item.of_messages} messages were sent.`),
    said(item),
    item.citations.length > 0 &&
      folded(`${item.citations.length} cited`, "cited", () => cited(item.citations)),
    item.notes.length > 0 && notes(item.notes),
  );
}

/** The parts of a reply in order, each call where the model wrote it. */
function said(item) {
  const calls = new Map(item.calls.map((call) => [call.call_id, call]));
  const content = item.parts.map((part) =>
    part.type === "call" ? draw(calls, part.call_id) : partNodes([part]),
  );
  // A call that is still being written may stand in no part yet.
  return [content, [...calls.keys()].map((id) => draw(calls, id))];
}

/** Each call once, where the model wrote it. */
function draw(calls, id) {
  const call = calls.get(id);
  calls.delete(id);
  return call ? callNode(call, (nested) => itemNode(nested)) : null;
}

function figures({ model, seconds: took, usage, cached_share: cached, stop, stop_word: said, state }) {
  if (state === "asking") return h("span.figures", inline(model, 60));
  const cache =
    usage.cached_tokens > 0 &&
    h(
      "span.cached",
      { title: `${count(usage.cached_tokens)} tokens from the vendor’s cache` },
      h("meter", { min: 0, max: 1, value: cached, "aria-label": "Cached share" }),
      `${percent(cached)} cached`,
    );
  return h(
    "span.figures",
    model && h("span", inline(model, 60)),
    h("span.number", seconds(took)),
    h(
      "span.number",
      { title: `${count(usage.input_tokens)} tokens in, ${count(usage.output_tokens)} out` },
      `${compact(usage.input_tokens)} → ${compact(usage.output_tokens)} tokens`,
    ),
    usage.reasoning_tokens > 0 && h("span.number", `${compact(usage.reasoning_tokens)} for reasoning`),
    cache,
    usage.cost !== null && h("span.number", dollars(usage.cost)),
    stop && stop !== "calls" && stop !== "end" && h("span.badge.warn", { title: said }, words(stop)),
  );
}

function passedOver({ failed, why, model }) {
  return h(
    "p.small.soft",
    inline(failed, 60),
    " failed (",
    inline(why, 200),
    "), so ",
    inline(model, 60),
    " was asked.",
  );
}

function cited(citations) {
  return h(
    "ul.small",
    citations.map(({ text, source }) => h("li", "“", inline(text, 300), "” – ", inline(source, 200))),
  );
}

function notes(found) {
  return h(
    "div.notes",
    h("p.small.soft", "Hooks had the model told:"),
    found.map((parts) => partNodes([parts].flat())),
  );
}

function button(label, onclick) {
  return h("button.quiet.tiny", { type: "button", onclick }, label);
}

function event(item) {
  const { decisions, ...data } = item.data ?? {};
  // Of a run that ended as it should there is nothing more to say.
  const isUsual = item.event === "ended" && item.text === "end";
  return h(
    "article.item.event",
    { "aria-label": item.title },
    h("p", badge(item.title, SIGNS[item.event] ?? ""), item.at && h("time.small.soft", moment(item.at))),
    item.text && !isUsual && block(item.text),
    decisions && h("ul.small", decisions.map(decided)),
    Object.keys(data).length > 0 && !isUsual && folded("Details", "details", () => json(data)),
  );
}

function decided({ shown_id: id, decision }) {
  const reason = decision.reason && [" – ", inline(decision.reason, 300)];
  return h("li", h("code", inline(id, 60)), ": ", words(decision.kind), reason);
}

// What a person says to a call: yes, no with words, other arguments, or an answer in its place.

import { h } from "../dom.js";
import { inline } from "../stored.js";

const KINDS = [
  ["once", "Allow this call"],
  ["run", "Allow this tool in this run"],
  ["target", "Allow this tool, same targets"],
  ["deny", "Deny it"],
  ["rewrite", "Change its arguments"],
  ["answer", "Answer in its place"],
];
const FIELDS = {
  deny: ["Why, in words for the model", "Do not pay before Friday."],
  rewrite: ["The arguments to run it with, as JSON", ""],
  answer: ["What the model reads as the result", ""],
};

let made = 0;

/** The fields for one call: its node, and `decision()`, which raises words for a person where something is missing. */
export function decisionForm(call) {
  const name = `decision-${++made}`;
  const more = Object.fromEntries(
    Object.keys(FIELDS).map((kind) => [kind, moreField(kind, name, call)]),
  );
  const choices = KINDS.map(([kind, label]) => {
    const radio = h("input", { type: "radio", name, value: kind, disabled: !call.can_decide });
    return { radio, node: h("div.choice", h("label", radio, label), more[kind]?.node) };
  });
  const node = h(
    "fieldset.decide",
    { disabled: !call.can_decide },
    h("legend", "Your decision"),
    choices.map((choice) => choice.node),
  );
  const chosen = () => choices.find(({ radio }) => radio.checked)?.radio.value;
  node.addEventListener("change", () => {
    for (const [kind, field] of Object.entries(more)) field.show(kind === chosen());
  });
  const wrong = (kind, words) => {
    more[kind]?.complain(words);
    throw new Error(words);
  };
  const decision = () => {
    const kind = chosen();
    if (!kind) throw new Error("Choose what is to happen to every call.");
    if (kind === "deny") return { kind, reason: more.deny.value() };
    if (kind === "answer") return { kind, text: more.answer.value() };
    if (kind === "rewrite")
      return { kind, arguments: object(more.rewrite.value(), (words) => wrong(kind, words)) };
    return { kind: "allow", scope: kind };
  };
  return { node, decision, complain: (problems) => more.rewrite.complain(problems) };
}

/** The text that goes with a choice; shown once that is chosen. */
function moreField(kind, name, call) {
  const [label, example] = FIELDS[kind];
  const id = `${name}-${kind}`;
  const text = h(kind === "rewrite" ? "textarea.code" : "textarea", {
    id,
    rows: 3,
    placeholder: example,
    "aria-describedby": `${id}-wrong`,
  });
  if (kind === "rewrite") text.value = JSON.stringify(call.arguments ?? {}, null, 2);
  const wrong = h("p.wrong", { id: `${id}-wrong`, role: "alert" });
  const node = h("div.field", { hidden: true }, h("label", { for: id }, label), text, wrong);
  return {
    node,
    value: () => text.value,
    show: (isChosen) => (node.hidden = !isChosen),
    complain: (words) => {
      wrong.replaceChildren(inline(words, 1000));
      text.setAttribute("aria-invalid", "true");
      text.focus();
    },
  };
}

function object(text, wrong) {
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  } catch (error) {
    return wrong(`This is no JSON: ${error.message}`);
  }
  return wrong("Arguments are a JSON object, in braces.");
}

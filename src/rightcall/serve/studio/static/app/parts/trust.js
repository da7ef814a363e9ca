// Who could have written what. A colour says it, a word says it, and a frame keeps strangers' text from passing for
// the studio's own.

import { h } from "../dom.js";
import { inline } from "../stored.js";

const WRITERS = {
  user: ["the user", "vouched"],
  developer: ["the application", "vouched"],
  runtime: ["rightcall", "vouched"],
  model: ["the model", "doubtful"],
  tool: ["trusted tool", "vouched"],
  outsider: ["outsiders’ text", "outside"],
};

const ORIGINS = {
  user: ["the user", "vouched"],
  developer: ["the application", "vouched"],
  operator: ["the operator", "vouched"],
  trusted: ["a trusted result", "vouched"],
  listed: ["listed only", "doubtful"],
  unfit: ["named as something else", "doubtful"],
  untrusted: ["outsiders’ text", "outside"],
  nowhere: ["nobody but the model", "outside"],
};

/** Who wrote something, and what else is to be known of it. Of outsiders their frame tells. */
export function labelBadges(label) {
  if (!label) return null;
  const [word, kind] = WRITERS[label.writer] ?? [label.writer, "doubtful"];
  return h(
    "span.labels",
    { title: label.words },
    label.writer !== "outsider" && h(`span.trust.${kind}`, word),
    label.private && h("span.trust.doubtful", "private"),
    label.suspected && h("span.trust.outside", "gives orders?"),
  );
}

/** Content in the frame of its writer: what outsiders could have written is framed, the rest stands as it is. */
export function framed(label, content) {
  return label?.writer === "outsider" ? foreign(label.source, content, label.words) : h("div", content);
}

/** The frame of strangers. Its heading stands outside of what they can reach. */
export function foreign(source, content, words = "") {
  const from = source ? [" read by ", h("code", inline(source, 60))] : null;
  return h(
    "figure.foreign",
    h("figcaption", { title: words }, h("span.trust.outside", "Outsiders’ text"), from),
    h("div.foreign-text", content),
  );
}

/** Each value of a call, and where it came from. */
export function evidenceTable(evidence) {
  if (!evidence?.length) return null;
  const column = (name) => h("th", { scope: "col" }, name);
  const table = h(
    "table.evidence",
    h("thead", h("tr", column("Argument"), column("Value"), column("Named by"))),
    h("tbody", evidence.map(evidenceRow)),
  );
  return h(
    "div.scroll",
    { tabindex: 0, role: "group", "aria-label": "Where the values came from" },
    table,
  );
}

function evidenceRow({ path, value, origin, source, words }) {
  const [word, kind] = ORIGINS[origin] ?? [origin, "doubtful"];
  const where = [
    h(`span.trust.${kind}`, { title: words }, word),
    source && h("span.small.soft", " in ", inline(source, 60)),
  ];
  return h("tr", h("td", h("code", inline(path, 80))), h("td", inline(value, 200)), h("td", where));
}

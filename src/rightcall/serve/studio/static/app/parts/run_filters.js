// The search field and the filters above the list of runs.

import { get } from "../api.js";
import { h } from "../dom.js";
import { words } from "../format.js";
import { clipped } from "../stored.js";

const TYPING = 200;
const CHOICES = [
  ["state", "State", "states"],
  ["agent", "Agent", "agents"],
  ["model", "Model", "models"],
  ["tool", "Tool", "tools"],
  ["outcome", "A call", "outcomes"],
  ["stop", "Stopped for", "stops"],
];
const AGES = [
  ["", "Any time"],
  [3600, "Last hour"],
  [86400, "Last day"],
  [7 * 86400, "Last week"],
  [30 * 86400, "Last month"],
];

/** The form, and what is chosen in it; `onChange` is told whenever that changes. */
export async function runFilters(query, signal, onChange) {
  const facets = await get("/api/runs/facets", {}, signal);
  const search = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search the words of runs",
    value: query.get("q") ?? "",
    dataset: { search: "" },
    autocomplete: "off",
  });
  const selects = CHOICES.map(([name, label, facet]) =>
    choice(name, label, facets[facet] ?? [], query.getAll(name)),
  );
  const age = select("age", "Began", AGES, query.get("age") ?? "");
  const least = amount("min_cost", "Cost from $", query);
  const most = amount("max_cost", "to $", query);
  const form = h(
    "form.filters",
    { role: "search", "aria-label": "Runs" },
    h("div.field.wide", h("label.unseen", { for: "search" }, "Search"), search),
    // On a narrow screen the list comes first, and the filters when they are asked for.
    h(
      "details.choices",
      { open: matchMedia("(min-width: 46rem)").matches },
      h("summary", "Filters"),
      h(
        "div.choices-grid",
        [...selects, age, least, most].map(({ node }) => node),
        h("button.quiet", { type: "reset" }, "Clear"),
      ),
    ),
  );
  const chosen = () => given({ q: search.value.trim(), ...values([...selects, age, least, most]) });
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => signal.aborted || onChange(chosen()), TYPING);
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    changed();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const field of form.querySelectorAll("input, select")) field.value = "";
    changed();
  });
  return { node: form, chosen };
}

function choice(name, label, found, chosen) {
  const known = found.map(({ value, runs }) => [
    value,
    `${clipped(words(value), 40)} (${runs.toLocaleString("en")})`,
  ]);
  // What the address asks for stands in the list, also where no run has it any more.
  for (const value of chosen)
    if (!known.some(([one]) => one === value)) known.push([value, clipped(words(value), 40)]);
  return select(name, label, [["", "Any"], ...known], chosen[0] ?? "");
}

function select(name, label, options, value) {
  const node = h(
    "select",
    { id: `filter-${name}` },
    options.map(([one, text]) => h("option", { value: one }, text)),
  );
  node.value = value;
  return {
    name,
    value: () => node.value,
    node: h("div.field", h("label", { for: node.id }, label), node),
  };
}

function amount(name, label, query) {
  const node = h("input", {
    type: "number",
    id: `filter-${name}`,
    min: 0,
    step: "any",
    inputmode: "decimal",
    value: query.get(name) ?? "",
  });
  return {
    name,
    value: () => node.value,
    node: h("div.field.amount", h("label", { for: node.id }, label), node),
  };
}

function values(fields) {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value()]));
}

/** What the server is asked: an age is relative to now, so the address keeps the age and the server is told a time. */
export function asked({ age, ...rest }) {
  return age ? { ...rest, since: Math.floor(Date.now() / 1000) - Number(age) } : rest;
}

function given(query) {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

// Choosing a run: search, walk the results, take one.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { when } from "../format.js";
import { inline } from "../stored.js";
import { stateBadge } from "./badges.js";
import { openDialog } from "./dialog.js";

const TYPING = 200;
const SHOWN = 12;

/** A search field with its results; `onPick(row)` is told which was taken. */
export function runPicker(id, label, onPick) {
  const results = h("ul.picks", { "aria-label": "Runs found" });
  const field = h("input", {
    type: "search",
    id,
    placeholder: "Words of the run, or nothing for the newest",
    autocomplete: "off",
  });
  const pick = (row) =>
    h(
      "li",
      h(
        "button.pick",
        { type: "button", onclick: () => onPick(row) },
        h("span", inline(row.prompt || row.shown, 100)),
        h("span.small.soft", inline(row.shown, 40), ` · ${when(row.at)}`),
        stateBadge(row),
      ),
    );
  const search = async () => {
    const asked = field.value.trim();
    try {
      const { live = [], runs } = await get("/api/runs", { q: asked, count: SHOWN });
      if (asked === field.value.trim()) fill(results, [...live, ...runs].slice(0, SHOWN).map(pick));
    } catch (error) {
      fill(results, h("li.fault", error.message));
    }
  };
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, TYPING);
  });
  search();
  return h("div.field", h("label", { for: id }, label), field, results);
}

/** The same in a dialog. */
export function openPicker(heading, onPick) {
  const dialog = openDialog(
    heading,
    runPicker("pick-run", "Search runs", (row) => {
      dialog.close();
      onPick(row);
    }),
  );
  dialog.querySelector("input").focus();
}

// A form in a dialog that asks the server for one thing, and shows its answer or its no.

import { fill, h } from "../dom.js";
import { inline } from "../stored.js";
import { openDialog } from "./dialog.js";

/**
 * `send(form)` does it and gives nodes to show, or null to close. `blocked` says why it cannot be done, if it cannot.
 */
export function openForm({ heading, fields, verb, send, blocked = "" }) {
  const answer = h("div.stack", { role: "status" });
  const button = h("button.main", { type: "submit", disabled: blocked !== "" }, verb);
  const form = h(
    "form.stack",
    fields,
    blocked && h("p.caution", blocked),
    answer,
    h(
      "div.dialog-foot",
      h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
      button,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    fill(answer, h("p.soft", "One moment …"));
    try {
      const shown = await send(form);
      if (shown === null) return dialog.close();
      fill(answer, shown);
    } catch (error) {
      fill(answer, h("p.fault", inline(error.message, 1000)));
    } finally {
      button.disabled = false;
    }
  });
  const dialog = openDialog(heading, form);
  return dialog;
}

/** A field for the name of a model, with those that are known to choose from. */
export function modelField(id, session, placeholder, hint) {
  const control = h("input", { placeholder, autocomplete: "off", list: `${id}-known` });
  const known = h(
    "datalist",
    { id: `${id}-known` },
    (session.models ?? []).map((name) => h("option", { value: name })),
  );
  return { control, node: h("div", field(id, "Model", control, hint), known) };
}

/** A labelled field, with a line that says more. */
export function field(id, label, control, hint = "") {
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h(
    "div.field",
    h("label", { for: id }, label),
    control,
    hint && h("span.hint", { id: `${id}-hint` }, hint),
  );
}

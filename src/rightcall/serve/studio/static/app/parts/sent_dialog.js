// What a model was really sent in a turn, in the form of any vendor.

import { at, get } from "../api.js";
import { fill, h } from "../dom.js";
import { count, several } from "../format.js";
import { block, inline } from "../stored.js";
import { openDialog } from "./dialog.js";

/** Open it for a turn of a run. */
export async function openSent(run, item) {
  const body = h(
    "div.stack",
    { "aria-live": "polite" },
    h("p.soft", "Making it again from the record …"),
  );
  openDialog(`What was sent in turn ${item.turn}`, body).classList.add("wide");
  const show = async (form) => {
    try {
      fill(body, sent(run, await get("/api/run/sent", { run, key: item.key, form }), show));
    } catch (error) {
      fill(body, h("p.fault", error.message));
    }
  };
  await show("");
}

function sent(run, found, show) {
  const forms = h(
    "select",
    { id: "form", onchange: () => show(forms.value) },
    found.forms.map((form) => h("option", { value: form }, form)),
  );
  forms.value = found.form;
  return [
    h(
      "div.line",
      h("div.field", h("label", { for: "form" }, "As the request of"), forms),
      h(
        "p.soft",
        `${several(found.sent_messages, "message")} of ${count(found.of_messages)}`,
        found.tokens ? `, ${count(found.tokens)} tokens` : "",
      ),
    ),
    found.note && h("p.small.soft", inline(found.note, 600)),
    found.cut &&
      h(
        "p.cut",
        `${several(found.cut.left_out, "message")} left out. `,
        inline(found.cut.words, 400),
        found.cut.exact ? "" : " (as far as can be told)",
      ),
    h(
      "div.sent-body",
      { tabindex: 0, role: "group", "aria-label": "The request" },
      block(found.body, { kind: "code", most: 40_000 }),
    ),
    found.has_raw &&
      h(
        "p",
        h(
          "a",
          { href: at("/api/run/raw", { run, key: found.key }), download: "" },
          `The vendor’s own bytes, ${count(found.raw_bytes)}`,
        ),
      ),
  ];
}

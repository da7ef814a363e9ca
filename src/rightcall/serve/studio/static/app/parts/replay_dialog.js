// A replay: the run again over its record, to see whether it still goes the same way.

import { post } from "../api.js";
import { h } from "../dom.js";
import { inline } from "../stored.js";
import { field, modelField, openForm } from "./ask_form.js";
import { ownAgent } from "./fork_dialog.js";
import { itemNode } from "./item.js";
import { folded } from "./values.js";

/** Open it for a run. */
export function openReplay(row, session) {
  const hint = "Empty: nothing outside of this machine is asked.";
  const model = modelField("replay-model", session, "the recorded replies", hint);
  const tools = h(
    "select",
    h("option", { value: "recorded" }, "Recorded results: nothing is run"),
    h("option", { value: "live" }, "Run the tools again"),
  );
  const agent = h(
    "select",
    h("option", { value: "" }, "None"),
    session.agents.map((name) => h("option", { value: name }, name)),
  );
  agent.value = ownAgent(row, session);
  const fields = [
    model.node,
    field(
      "replay-tools",
      "Tools",
      tools,
      session.can_write ? "" : "Only recorded results: the studio was started without --write.",
    ),
    session.agents.length > 0 && field("replay-agent", "Agent", agent),
  ];
  if (!session.can_write) model.control.disabled = tools.disabled = true;
  const send = async () =>
    outcome(
      await post("/api/run/replay", {
        run: row.run,
        model: model.control.value.trim() || null,
        tools: tools.value,
        agent: agent.value || null,
      }),
    );
  openForm({ heading: "Replay", fields, verb: "Replay", send });
}

function outcome({ same, words, first, items }) {
  return [
    h(
      same ? "p.notice" : "p.caution",
      h(
        "b",
        same
          ? "The same as recorded. "
          : `It differs${first === null ? "" : `, first at step ${first + 1}`}. `,
      ),
      inline(words, 400),
    ),
    items?.length > 0 &&
      folded("What came of it", "replayed", () =>
        h(
          "div.items",
          items.map((item) => itemNode(item)),
        ),
      ),
  ];
}

// One tool, called by hand through the same gate that an agent's calls go through.

import { post } from "../api.js";
import { fill, h } from "../dom.js";
import { seconds } from "../format.js";
import { block, inline } from "../stored.js";
import { badge, outcomeBadge } from "./badges.js";
import { proposalNode } from "./proposal.js";
import { schemaForm } from "./schema_form.js";
import { framed, labelBadges } from "./trust.js";
import { folded, partNodes } from "./values.js";

/** The choice of a tool, its form, and what came of it. */
export function toolPanel(agent, session, wanted) {
  const choice = h(
    "select",
    { id: "try-tool" },
    agent.tools.map(({ name }) => h("option", { value: name }, name)),
  );
  if (agent.tools.some(({ name }) => name === wanted)) choice.value = wanted;
  const form = h("div");
  const answer = h("div.try-answer.stack", { "aria-live": "polite" });
  const draw = () => {
    fill(answer, h("p.soft", "What it returns is shown here, as the model would read it."));
    fill(
      form,
      toolForm(
        agent,
        agent.tools.find(({ name }) => name === choice.value),
        session,
        answer,
      ),
    );
  };
  choice.addEventListener("change", draw);
  draw();
  return h(
    "div.two.try",
    h(
      "section.stack",
      { "aria-label": "The call" },
      h("div.field", h("label", { for: "try-tool" }, "Tool"), choice),
      form,
    ),
    h("section", { "aria-label": "The result" }, answer),
  );
}

function toolForm(agent, tool, session, answer) {
  const fields = schemaForm(tool.parameters);
  const raw = h("textarea.code", { rows: 8, "aria-label": "Arguments as JSON", hidden: true });
  const asJson = h("input", { type: "checkbox", onchange: () => swap() });
  const dry = h("input", { type: "checkbox" });
  const button = h("button.main", { type: "submit", disabled: !session.can_write }, "Call it");
  const read = () => (asJson.checked ? JSON.parse(raw.value) : fields.value());
  const swap = () => {
    if (asJson.checked) raw.value = JSON.stringify(attempt(fields.value) ?? {}, null, 2);
    raw.hidden = !asJson.checked;
    fields.node.hidden = asJson.checked;
  };
  const send = async (approve) => {
    button.disabled = true;
    try {
      fill(
        answer,
        outcome(
          await post("/api/try", {
            agent: agent.name,
            tool: tool.name,
            arguments: read(),
            dry_run: dry.checked,
            approve,
          }),
          () => send(true),
        ),
      );
    } catch (error) {
      fill(answer, h("p.fault", inline(error.message, 1000)));
    } finally {
      button.disabled = false;
    }
  };
  const form = h(
    "form.stack",
    h(
      "p.line",
      tool.effect && badge(tool.effect, tool.effect === "write" ? "warn" : ""),
      tool.approval && badge("asks a person", "warn"),
      tool.origin && h("span.small.soft", "from ", inline(tool.origin, 60)),
    ),
    tool.description && block(tool.description),
    fields.node,
    raw,
    h("div.line", h("label.line", asJson, "as JSON"), h("label.line", dry, "dry run: change nothing")),
    !session.can_write && h("p.caution", "The studio was started without --write, so it runs nothing."),
    h("div", button),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(false);
  });
  return form;
}

function outcome({ outcome: kind, result, seconds: took, problems, error, proposal }, approve) {
  if (proposal)
    return [
      h("p.caution", "It was not run: a person must approve it."),
      proposalNode(proposal),
      h("div", h("button.main", { type: "button", onclick: approve }, "Allow it and run it")),
    ];
  return [
    h(
      "p.line",
      outcomeBadge(kind, "done"),
      labelBadges(result?.label),
      h("span.number.soft", seconds(took)),
    ),
    problems.length > 0 &&
      h(
        "ul.fault",
        problems.map(({ path, message }) =>
          h("li", h("code", inline(path, 80)), " ", inline(message, 300)),
        ),
      ),
    result && framed(result.label, partNodes(result.parts, { kind: "code" })),
    error && folded("Traceback", "error", () => block(error, { kind: "code" })),
  ];
}

function attempt(make) {
  try {
    return make();
  } catch {
    return undefined;
  }
}

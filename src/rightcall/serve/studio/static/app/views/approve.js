// Every call that waits for a person. Calls of one pause are decided together; of two people, the first decides.

import { announce } from "../announce.js";
import { get, post, unasked } from "../api.js";
import { fill, h } from "../dom.js";
import { moment, several } from "../format.js";
import { decisionForm } from "../parts/decision_form.js";
import { proposalNode } from "../parts/proposal.js";
import { badge } from "../parts/badges.js";
import { address } from "../router.js";
import { inline } from "../stored.js";

export async function show(place, { query, signal }) {
  const board = new Board(query.get("run"), signal);
  fill(place, h("div.view-head", h("h1", "Approve"), board.total), board.node, board.nothing);
  await board.refresh();
  for (const name of ["pending", "runs"])
    addEventListener(name, () => unasked(board.refresh()), { signal });
  return "Approve";
}

class Board {
  constructor(run, signal) {
    this.run = run;
    this.signal = signal;
    this.pauses = new Map();
    this.total = h("p.soft", { role: "status" });
    this.node = h("div.pauses");
    this.nothing = h(
      "div.empty",
      { hidden: true },
      h("h2", "Nothing waits for a person"),
      h("p", "Calls appear here as soon as a run pauses for them."),
      run && h("p", h("a", { href: "#/approve" }, "Look at all runs")),
    );
  }

  /** New pauses are added; what somebody is about to decide stays as it is; what is decided says so. */
  async refresh() {
    const { pending } = await get("/api/pending", {}, this.signal);
    const waiting = grouped(this.run ? pending.filter((call) => call.run === this.run) : pending);
    for (const [key, calls] of waiting) {
      if (this.pauses.has(key)) continue;
      const pause = new Pause(calls, () => this.putAway(key));
      this.pauses.set(key, pause);
      this.node.append(pause.node);
    }
    for (const [key, pause] of this.pauses) if (!waiting.has(key)) pause.wasDecidedElsewhere();
    const open = [...waiting.values()].flat().length;
    this.total.textContent = open ? `${several(open, "call")} to decide` : "";
    this.nothing.hidden = this.pauses.size > 0;
  }

  putAway(key) {
    this.pauses.get(key).node.remove();
    this.pauses.delete(key);
    this.nothing.hidden = this.pauses.size > 0;
    (this.node.querySelector("[data-walk]") ?? document.getElementById("content")).focus();
  }
}

/** The calls of one pause, under one button. */
class Pause {
  constructor(calls, putAway) {
    const [first] = calls;
    this.run = first.run;
    this.pause = first.pause;
    this.putAway = putAway;
    this.isOver = false;
    this.forms = calls.map((call) => [call, decisionForm(call)]);
    this.said = h("div.said", { role: "status" });
    this.button = h(
      "button.main",
      { type: "submit", disabled: !first.can_decide },
      calls.length > 1 ? `Send ${calls.length} decisions` : "Send the decision",
    );
    const form = h(
      "form.stack",
      this.forms.map(([call, { node }]) => this.one(call, node)),
      !first.can_decide && h("p.caution", inline(first.why_not, 400)),
      this.said,
      h("div.dialog-foot", this.button),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    const about = h(
      "header.pause-head",
      h("h2", inline(first.prompt || first.shown, 160)),
      h(
        "p.small.soft",
        "waits since ",
        moment(first.at),
        " in ",
        h("a", { href: address("run", { run: first.run }) }, inline(first.shown, 60)),
      ),
    );
    this.node = h(
      "article.pause",
      {
        tabindex: -1,
        dataset: { walk: "" },
        "aria-label": `Decision about ${several(calls.length, "call")}`,
      },
      about,
      form,
    );
  }

  one(call, decision) {
    const head = h(
      "h3",
      h("code", inline(call.name, 80)),
      call.agent && h("span.soft", " of ", inline(call.agent, 60)),
      call.effect && badge(call.effect, call.effect === "write" ? "warn" : ""),
    );
    return h(
      "section.waiting-call",
      { role: "group", "aria-label": `Call of ${call.name}` },
      head,
      h("div.decide-columns", proposalNode(call), decision),
    );
  }

  async send() {
    let decisions;
    try {
      decisions = Object.fromEntries(this.forms.map(([call, form]) => [call.call_id, form.decision()]));
    } catch (error) {
      return fill(this.said, h("p.fault", inline(error.message, 600)));
    }
    this.button.disabled = true;
    this.isSending = true;
    try {
      const { words } = await post("/api/run/decide", { run: this.run, pause: this.pause, decisions });
      this.settle("notice", words);
    } catch (error) {
      this.refused(error);
    } finally {
      this.isSending = false;
    }
  }

  /** Somebody was faster, the run is elsewhere, or the arguments do not fit: three different things to do next. */
  refused(error) {
    if (error.code === "already_decided")
      return this.settle("caution", error.more.told ?? error.message);
    this.button.disabled = false;
    const problems = (error.more?.problems ?? [])
      .map(({ path, message }) => `${path}: ${message}`)
      .join("; ");
    if (problems) for (const [, form] of this.forms) form.complain(problems);
    fill(this.said, h("p.fault", inline(error.message, 600)));
  }

  wasDecidedElsewhere() {
    if (!this.isOver && !this.isSending)
      this.settle(
        "caution",
        "This does not wait any more: somebody else decided, or the run went on without it.",
      );
  }

  settle(kind, words) {
    this.isOver = true;
    for (const fields of this.node.querySelectorAll("fieldset")) fields.disabled = true;
    this.button.hidden = true;
    this.node.classList.add("over");
    fill(
      this.said,
      h(
        `p.${kind}.line`,
        inline(words, 600),
        h("a", { href: address("run", { run: this.run }) }, "See the run"),
        h("button.tiny", { type: "button", onclick: this.putAway }, "Put away"),
      ),
    );
    announce(words);
  }
}

function grouped(pending) {
  const found = new Map();
  for (const call of pending) {
    const key = JSON.stringify([call.run, call.pause]);
    found.set(key, [...(found.get(key) ?? []), call]);
  }
  return found;
}

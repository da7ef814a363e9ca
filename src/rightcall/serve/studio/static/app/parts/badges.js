// States and outcomes as small words with a colour; the word alone says it too.

import { h } from "../dom.js";
import { words } from "../format.js";

const STATES = {
  running: ["running", "live"],
  paused: ["waits for a person", "warn"],
  decided: ["decided, not gone on", "warn"],
  ended: ["ended", "good"],
  failed: ["failed", "bad"],
  cut_off: ["cut off", "bad"],
};

const OUTCOMES = {
  returned: "good",
  failed: "bad",
  invalid: "warn",
  unknown: "warn",
  not_offered: "warn",
  given_up: "bad",
  denied: "bad",
  timed_out: "bad",
  cancelled: "",
  truncated: "warn",
  interrupted: "bad",
  dry_run: "muse",
};

// With these a run is over as it should be; any other reason is worth a look.
const USUAL_STOPS = new Set(["end", "output", "stop_sequence"]);

/** Where a run stands. */
export function stateBadge({ state, stop }) {
  if (state === "ended" && stop && !USUAL_STOPS.has(stop)) return badge(`ended: ${words(stop)}`, "warn");
  const [word, kind] = STATES[state] ?? [words(state), ""];
  return badge(word, kind, state === "running");
}

/** What happened to a call; while nothing has, where it stands. */
export function outcomeBadge(outcome, state) {
  if (outcome) return badge(words(outcome), OUTCOMES[outcome] ?? "");
  return badge(
    words(state),
    state === "waiting" ? "warn" : "live",
    state !== "waiting" && state !== "not_run",
  );
}

export function badge(word, kind = "", pulses = false) {
  return h(kind ? `span.badge.${kind}` : "span.badge", pulses && h("span.dot.pulse"), word);
}

// The server's JSON. What it refuses is an error with its words in it, for people to read.

import { searchOf } from "./router.js";

/** A request that the server answered with a no (`code` says which), or did not answer. */
export class Refused extends Error {
  constructor(message, code, more = {}) {
    super(message);
    this.code = code;
    this.more = more;
  }
}

let token = "";

/** What this server is and may do. Its token goes with everything that changes something. */
export async function openSession() {
  const session = await get("/api/session");
  token = session.csrf;
  return session;
}

export function at(where, query = {}) {
  const search = searchOf(query);
  return search ? `${where}?${search}` : where;
}

export function get(where, query = {}, signal = undefined) {
  return ask(at(where, query), { signal });
}

export function post(where, body) {
  const headers = { "Content-Type": "application/json", "X-Studio-Token": token };
  return ask(where, { method: "POST", headers, body: JSON.stringify(body) });
}

/** What the page fetches by itself: where that fails, the next time will do, and a lost connection is told elsewhere. */
export function unasked(fetching) {
  return fetching.catch((error) => {
    if (!(error instanceof Refused) && error.name !== "AbortError") throw error;
  });
}

async function ask(where, options) {
  let answer;
  try {
    answer = await fetch(where, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The studio’s server does not answer. Is it still running?", "away");
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  const {
    message = `The server answered ${answer.status}.`,
    code = "failed",
    ...more
  } = body?.error ?? {};
  throw new Refused(message, code, more);
}

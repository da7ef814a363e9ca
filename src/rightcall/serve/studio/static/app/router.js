// Addresses of the pages: `#/run?run=ID&item=t3` shows the view `run`. Names of runs may hold anything, so they
// stand in the query.

/** What an address after the `#` means. */
export function parse(hash) {
  const [view, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: view || "runs", query: new URLSearchParams(query) };
}

/** The address of a view; what is empty is left out, and a list is said several times. */
export function address(view, query = {}) {
  const said = searchOf(query);
  return said ? `#/${view}?${said}` : `#/${view}`;
}

/** Members of a query as text, for the pages' addresses and the server's alike. */
export function searchOf(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat())
      if (one !== null && one !== undefined && one !== "") search.append(name, one);
  }
  return search.toString();
}

/** Have the address say what is shown, without a step in the history for every letter of a search. */
export function rename(where) {
  history.replaceState(null, "", where);
}

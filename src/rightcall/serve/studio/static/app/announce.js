// What changed on the page, said to those who do not see it.

import { fill } from "./dom.js";

const SILENCE = 400;
let waiting = 0;

/** Say it once things are quiet: of a burst of changes, the last one counts. */
export function announce(words) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    fill(document.getElementById("said"), words);
  }, SILENCE);
}

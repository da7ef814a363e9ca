// Characters that hide, direct or pretend, in text that anybody may have written.

// Controls but tabs and new lines, soft hyphens, what turns the direction of writing, blanks and joiners without
// width, separators, and the tag characters that repeat ASCII unseen. Joiners of letters and of emoji (U+200C,
// U+200D) are part of ordinary writing. The server spells most of these out already, in the same way; text within
// text, as JSON in a result, comes out only here.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const EACH = new RegExp(`(${UNSEEN.source})`, "u");
const EVERY = new RegExp(UNSEEN.source, "gu");

/** The text in pieces: at even places what is seen, at odd ones a character that is not. */
export function pieces(text) {
  return UNSEEN.test(text) ? text.split(EACH) : [text];
}

/** The text with every such character spelt out. */
export function spelled(text) {
  return text.replaceAll(EVERY, (found) => `⟨${nameOf(found)}⟩`);
}

/** What a character that is not seen is called. */
function nameOf(character) {
  const point = character.codePointAt(0);
  const isTag = point > 0xe0020 && point < 0xe007f;
  if (isTag) return `hidden ${String.fromCharCode(point - 0xe0000)}`;
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

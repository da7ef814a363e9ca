// What the theme makes of pages in the browser, corrected for those who use a keyboard or a screen reader.
const correct = () => {
  // A table that is scrolled sideways can be reached by the keyboard.
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0
  // Each code block has a landmark for its buttons; a label tells them apart.
  document.querySelectorAll(".md-code__nav").forEach((nav, index) => (nav.ariaLabel = `Code ${index + 1}`))
  // The empty corner of a table heads nothing.
  for (const corner of document.querySelectorAll("th:empty")) corner.replaceWith(document.createElement("td"))
  // GitHub wants a bar in a table's code with a backslash, which the site's generator would show.
  for (const code of document.querySelectorAll("td code")) {
    if (code.textContent.includes("\\|")) code.textContent = code.textContent.replaceAll("\\|", "|")
  }
}
correct()
new MutationObserver(correct).observe(document.body, { childList: true, subtree: true })

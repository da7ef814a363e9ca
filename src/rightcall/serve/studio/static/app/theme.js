// Light or dark: as the system has it, unless somebody said otherwise here.

const KEPT = "rightcall-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGNS = { auto: "◐", light: "○", dark: "●" };

/** Wire the switch, and show what was chosen last time. */
export function offerTheme(button) {
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = SIGNS[theme];
    button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system" : theme}`);
    button.title = button.getAttribute("aria-label");
    button.dataset.theme = theme;
  };
  button.addEventListener("click", () => {
    const theme = NEXT[button.dataset.theme];
    localStorage.setItem(KEPT, theme);
    show(theme);
  });
  const kept = localStorage.getItem(KEPT);
  show(kept in NEXT ? kept : "auto");
}

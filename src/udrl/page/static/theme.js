// Light or dark, before anything is drawn: as the system has it, until the person says otherwise.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const apply = () => { document.documentElement.dataset.theme = kept() ?? (dark.matches ? "dark" : "light"); };
  dark.addEventListener("change", apply);
  apply();
})();

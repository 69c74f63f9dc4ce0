// The API documentation follows the theme of the system where none is chosen; the server applies a chosen one.
"use strict";

(function () {
  const root = document.documentElement;
  if (root.className || "light" in root.dataset) return;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  function follow() { root.classList.toggle("dark-mode", system.matches); }
  system.addEventListener("change", follow);
  follow();
})();

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

// Swagger UI filters groups by a part of their name, case-sensitively. This keeps the operations whose group, method,
// path or summary contains each word, and opens their groups.
function filterOperations(groups, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (tag, row) => {
    const text = [tag, row.get("method"), row.get("path"), row.getIn(["operation", "summary"], "")].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return groups
    .map((group, tag) => group.update("operations", (rows) => rows.filter((row) => matches(tag, row))))
    .filter((group) => group.get("operations").size);
}

// The groups that the filter opened. An empty filter closes these only, not those opened by hand.
const openedByFilter = new Set();

function showGroup(tag, isOpen) {
  const group = ["operations-tag", tag];
  if (ui.layoutSelectors.isShown(group, false) === isOpen) return;
  history.pushState = () => {}; // Swagger UI adds an entry to the browser history for each group
  try { ui.layoutActions.show(group, isOpen); } finally { delete history.pushState; }
  if (isOpen) openedByFilter.add(tag);
}

document.addEventListener("input", (event) => {
  if (!event.target.matches(".operation-filter-input")) return;
  const phrase = event.target.value.trim();
  if (phrase) filterOperations(ui.specSelectors.taggedOperations(), phrase).forEach((_, tag) => showGroup(tag, true));
  else {
    openedByFilter.forEach((tag) => showGroup(tag, false));
    openedByFilter.clear();
  }
});

new MutationObserver(() => {
  const box = document.querySelector(".operation-filter-input");
  if (!box || box.ariaLabel) return;
  box.ariaLabel = "Filter operations";
  box.placeholder = "Filter by word, path or method";
}).observe(document.documentElement, { childList: true, subtree: true });

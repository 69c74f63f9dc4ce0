// Lists of memories: select a page at once, count the selected rows, and stay at the row after an action on it.
"use strict";

(function () {
  function boxes() {
    return Array.from(document.querySelectorAll('input[type="checkbox"][form="bulk"]'));
  }

  function updateCount() {
    const bulk = document.getElementById("bulk");
    if (!bulk) return;
    const all = boxes();
    const count = all.filter(function (box) { return box.checked; }).length;
    const scope = bulk.querySelector("[data-bulk-scope]");
    bulk.querySelector("[data-bulk-count]").textContent = !scope || scope.value === "selected" ? count + " selected" : "";
    const head = document.querySelector("[data-select-all]");
    if (head) {
      head.checked = count > 0 && count === all.length;
      head.indeterminate = count > 0 && count < all.length;
    }
  }

  let last = null;

  document.addEventListener("click", function (event) {
    const box = event.target;
    if (!box.matches || !box.matches('input[type="checkbox"][form="bulk"]')) return;
    const all = boxes();
    if (event.shiftKey && last && all.includes(last)) {
      const ends = [all.indexOf(last), all.indexOf(box)].sort(function (one, other) { return one - other; });
      all.slice(ends[0], ends[1] + 1).forEach(function (each) { each.checked = box.checked; });
    }
    last = box;
  });

  document.addEventListener("change", function (event) {
    if (event.target.matches("[data-select-all]")) {
      boxes().forEach(function (box) { box.checked = event.target.checked; });
    }
    if (event.target.closest("#rows, #hygiene-list")) {
      const scope = document.querySelector("[data-bulk-scope]");
      if (scope && event.target !== scope) scope.value = "selected";
      updateCount();
    }
  });

  // The row of the action may leave the list: the focus then moves to the row in its position.
  let place = -1;
  document.addEventListener("htmx:beforeRequest", function (event) {
    const row = event.detail.elt.closest(".row-actions") && event.detail.elt.closest("tr");
    place = row ? Array.from(row.parentElement.children).indexOf(row) : -1;
  });
  document.addEventListener("htmx:afterSettle", function () {
    updateCount();
    if (place < 0 || document.activeElement !== document.body) return;
    const rows = document.querySelectorAll("table.memories tbody tr");
    const row = rows[Math.min(place, rows.length - 1)];
    if (row) row.querySelector("a").focus({ preventScroll: true });
    place = -1;
  });

  document.addEventListener("DOMContentLoaded", updateCount);
})();

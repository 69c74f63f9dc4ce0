// The workbench by itself: a field that looks memories up, and details that stay open while the result changes.
"use strict";

(function () {
  // Choosing puts the value in the field and lets the form know.
  function lookup(field) {
    const list = document.getElementById(field.dataset.listbox);
    const { show } = window.combobox(field, list, choose);

    function choose(option) {
      field.value = option.dataset.value;
      show(false);
      field.form.dispatchEvent(new Event("input", { bubbles: true }));
    }

    // Words that are still typed are no focus yet: the form hears of an empty field and of a chosen memory.
    field.addEventListener("input", function (event) { if (field.value.trim()) event.stopPropagation(); });
    field.addEventListener("focusout", function (event) { if (!list.contains(event.relatedTarget)) show(false); });
    list.addEventListener("mousedown", function (event) {
      event.preventDefault();
      const option = event.target.closest('[role="option"]:not([aria-disabled])');
      if (option) choose(option);
    });
  }

  document.querySelectorAll("[data-listbox]").forEach(lookup);

  // What somebody opened stays open when the result is asked for again.
  if (window.Idiomorph) {
    window.Idiomorph.defaults.callbacks.beforeAttributeUpdated = function (name, node) {
      return !(name === "open" && node.tagName === "DETAILS");
    };
  }
  // The button in the summary of the request copies; it does not fold.
  document.addEventListener("click", function (event) {
    if (event.target.closest("summary [data-copy]")) event.preventDefault();
    const link = event.target.closest('a[href="#request"]');
    const request = link && document.getElementById("request");
    if (request) request.open = true;
  });
})();

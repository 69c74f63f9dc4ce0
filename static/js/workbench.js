// The workbench by itself: a field that looks memories up, and details that stay open while the result changes.
"use strict";

(function () {
  // Choosing puts the value in the field and lets the form know.
  function lookup(field) {
    const list = document.getElementById(field.dataset.listbox);
    const show = window.combobox(field, list, choose);

    function choose(option) {
      field.value = option.dataset.value;
      show(false);
      if ("submits" in field.dataset) field.form.requestSubmit();
      else field.form.dispatchEvent(new Event("input", { bubbles: true }));
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

  // The result brings a field of its own, again and again.
  function lookUpAll() {
    document.querySelectorAll("[data-listbox]:not([role=combobox])").forEach(lookup);
  }

  lookUpAll();
  document.addEventListener("htmx:afterSettle", lookUpAll);

  // What somebody opened stays open when the result is asked for again, and a field that looks up goes on doing so.
  if (window.Idiomorph) {
    window.Idiomorph.defaults.callbacks.beforeAttributeUpdated = function (name, node) {
      const isOpening = name === "open" && node.tagName === "DETAILS";
      return !isOpening && !(/^(role|aria-)/.test(name) && "listbox" in node.dataset);
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

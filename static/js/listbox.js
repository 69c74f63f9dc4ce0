// Fields that look something up (`data-listbox` names their list): choosing puts the value in the field.
"use strict";

(function () {
  // Choosing lets the form know; with `data-submits` it is sent.
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

  // A morphed field goes on looking up: what makes it a combobox is not in the server's HTML.
  if (window.Idiomorph) {
    const callbacks = window.Idiomorph.defaults.callbacks;
    const before = callbacks.beforeAttributeUpdated;
    callbacks.beforeAttributeUpdated = function (name, node, mutation) {
      return !(/^(role|aria-)/.test(name) && "listbox" in node.dataset) && before(name, node, mutation);
    };
  }
})();

// The workbench by itself: a field that looks memories up, and details that stay open while the result changes.
"use strict";

(function () {
  // A field with a list of what its letters may mean. Choosing puts the value in the field and lets the form know.
  function combobox(field) {
    const list = document.getElementById(field.dataset.listbox);
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-expanded", "false");

    const options = function () { return Array.from(list.querySelectorAll('[role="option"]:not([aria-disabled])')); };
    const marked = function () { return list.querySelector('[aria-selected="true"]'); };

    function mark(option) {
      const former = marked();
      if (former) former.setAttribute("aria-selected", "false");
      field.removeAttribute("aria-activedescendant");
      if (!option) return;
      option.setAttribute("aria-selected", "true");
      field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }

    function show(isOpen) {
      list.hidden = !isOpen;
      field.setAttribute("aria-expanded", String(isOpen));
      if (!isOpen) mark(null);
    }

    function choose(option) {
      field.value = option.dataset.value;
      show(false);
      field.form.dispatchEvent(new Event("input", { bubbles: true }));
    }

    field.addEventListener("keydown", function (event) {
      if (event.isComposing) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const all = options();
        if (!all.length) return;
        event.preventDefault();
        show(true);
        const at = all.indexOf(marked()), step = event.key === "ArrowDown" ? 1 : -1;
        mark(all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]);
      } else if (event.key === "Enter" && !list.hidden && marked()) {
        event.preventDefault();
        choose(marked());
      } else if (event.key === "Escape" && !list.hidden) {
        event.preventDefault();
        show(false);
      }
    });
    // Words that are still typed are no focus yet: the form hears of an empty field and of a chosen memory.
    field.addEventListener("input", function (event) {
      mark(null);
      if (field.value.trim()) event.stopPropagation();
      else show(false);
    });
    field.addEventListener("focusout", function (event) { if (!list.contains(event.relatedTarget)) show(false); });
    list.addEventListener("mousedown", function (event) {
      event.preventDefault();
      const option = event.target.closest('[role="option"]:not([aria-disabled])');
      if (option) choose(option);
    });
    list.addEventListener("htmx:afterSwap", function () {
      show(document.activeElement === field && field.value.trim() !== "");
    });
  }

  document.querySelectorAll("[data-listbox]").forEach(combobox);

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

// The search field of the frame as a combobox over what htmx puts below it. Without this file it sends its form.
"use strict";

(function () {
  const field = document.getElementById("search-q");
  if (!field) return;
  const form = document.getElementById("search");
  const list = document.getElementById("search-list");
  const typing = "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]";

  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", "search-list");
  field.setAttribute("aria-expanded", "false");

  function options() {
    return Array.from(list.querySelectorAll('[role="option"]:not([aria-disabled])'));
  }

  function chosen() {
    return list.querySelector('[aria-selected="true"]');
  }

  function choose(option) {
    const former = chosen();
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
    if (!isOpen) choose(null);
  }

  function move(step) {
    const all = options();
    if (!all.length) return;
    show(true);
    const at = all.indexOf(chosen());
    choose(all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]);
  }

  field.addEventListener("keydown", function (event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !list.hidden && chosen()) {
      event.preventDefault();
      window.location.assign(chosen().href);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      show(false);
    } else if (event.key === "Escape") {
      field.blur();
    }
  });

  field.addEventListener("input", function () {
    choose(null);
    if (!field.value.trim()) show(false);
  });
  field.addEventListener("focus", function () { if (field.value.trim() && list.childElementCount) show(true); });
  list.addEventListener("htmx:afterSwap", function () {
    show(document.activeElement === field && field.value.trim() !== "");
  });
  form.addEventListener("focusout", function (event) { if (!form.contains(event.relatedTarget)) show(false); });

  document.addEventListener("keydown", function (event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.body.dataset.keys === "off" || event.target.closest(typing) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();

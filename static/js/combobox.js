// A text field with a list of what its letters may mean, by keys and by pointer. htmx fills the list.
"use strict";

// `chosen` gets the option that was taken. Gives back what shows or hides the list.
window.combobox = function (field, list, chosen) {
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");

  // With `data-lists-all`, an empty field lists everything, the first option is marked, and the list does not close.
  const listsAll = "listsAll" in field.dataset;
  // The text with which Enter came before its list: the first option is taken once that is there.
  let early = null;

  function options() {
    return Array.from(list.querySelectorAll('[role="option"]:not([aria-disabled])'));
  }

  function marked() {
    return list.querySelector('[aria-selected="true"]');
  }

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
    if (isOpen) list.scrollIntoView({ block: "nearest", behavior: "instant" });
    else mark(null);
  }

  function move(step) {
    const all = options();
    if (!all.length) return;
    show(true);
    const at = all.indexOf(marked());
    mark(all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]);
  }

  field.addEventListener("keydown", function (event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !list.hidden && marked()) {
      event.preventDefault();
      chosen(marked());
    } else if (event.key === "Enter" && listsAll) {
      event.preventDefault();
      early = field.value;
    } else if (event.key === "Escape" && !list.hidden && !listsAll) {
      event.preventDefault();
      show(false);
    } else if (event.key === "Escape" && field.type === "search") {
      field.blur();
    }
  });
  field.addEventListener("input", function () {
    mark(null);
    early = null;
    if (!field.value.trim() && !listsAll) show(false);
  });
  list.addEventListener("htmx:afterSwap", function (event) {
    show(document.activeElement === field && (field.value.trim() !== "" || listsAll));
    if (listsAll) mark(options()[0]);
    if (early === null || event.detail.requestConfig.parameters[field.name] !== early) return;
    early = null;
    if (document.activeElement === field && marked()) chosen(marked());
  });
  return show;
};

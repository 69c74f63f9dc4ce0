// The command palette: a dialog with a combobox over pages, actions and what htmx finds. Ctrl+K or Cmd+K opens it.
"use strict";

(function () {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = document.getElementById("palette-q");
  const list = document.getElementById("palette-list");

  window.combobox(field, list, function (option) {
    dialog.close();
    window.location.assign(option.href);
  });

  function open() {
    if (document.querySelector("dialog[open]")) return;
    field.value = "";
    list.replaceChildren();
    dialog.showModal();
    field.focus();
    window.htmx.trigger(field, "palette-open");
  }

  document.addEventListener("keydown", function (event) {
    const isShortcut = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!isShortcut || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-palette-open]")) open();
    else if (event.target === dialog || event.target.closest("[data-palette-close]")) dialog.close();
    else if (event.target.closest("#palette-list a")) dialog.close();
  });
})();

// The search field of the frame as a combobox over what htmx puts below it. Without this file it sends its form.
"use strict";

(function () {
  const field = document.getElementById("search-q");
  if (!field) return;
  const form = document.getElementById("search");
  const list = document.getElementById("search-list");
  const typing = "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]";

  const show = window.combobox(field, list, function (option) { window.location.assign(option.href); });

  field.addEventListener("focus", function () { if (field.value.trim() && list.childElementCount) show(true); });
  form.addEventListener("focusout", function (event) { if (!form.contains(event.relatedTarget)) show(false); });

  document.addEventListener("keydown", function (event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.body.dataset.keys === "off" || event.target.closest(typing) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();

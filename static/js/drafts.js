// What was typed is not lost: kept when a form is sent, put back when the log-in had expired by then (once, and only
// for the same person in the same tab), and asked about before a page with a changed form is left.
"use strict";

(function () {
  const KEPT = "draft", SIGNED_OUT = "signed-out";
  const typed = "textarea, select, input:is([type=text], [type=number], [type=datetime-local], :not([type]))";
  const touched = new Set();
  let sent = null, storage;
  try {
    storage = window.sessionStorage;
    storage.getItem(KEPT);
  } catch (error) {
    storage = null; // A browser that keeps nothing: it asks before leaving, and the sign-in page says what was not saved.
  }

  function fieldsOf(form) {
    return Array.from(form.elements).filter(function (field) {
      return field.name && field.matches(typed);
    });
  }

  // What is saved by this form, or by another one that names it.
  function isKept(form) {
    const saves = form.method === "post" && !("reads" in form.dataset);
    return (saves || "guard" in form.dataset) && Boolean(form.closest("main"));
  }

  // --- Kept when it is sent ----------------------------------------------------------------------------------------

  function drop() {
    if (storage) storage.removeItem(KEPT);
  }

  function keep(form) {
    const fields = fieldsOf(form).map(function (field) { return [field.name, field.value]; });
    if (!storage || !window.pageOwner()) return;
    if (!fields.length) return drop();
    const draft = { owner: window.pageOwner(), path: window.location.pathname, action: form.getAttribute("action"), fields: fields };
    try { storage.setItem(KEPT, JSON.stringify(draft)); } catch (error) { drop(); }
  }

  // --- Put back after signing in -----------------------------------------------------------------------------------

  function refill(draft) {
    const forms = Array.from(document.querySelectorAll("main form")).filter(isKept);
    const form = forms.find(function (each) { return each.getAttribute("action") === draft.action; });
    if (!form) return false;
    const left = fieldsOf(form);
    let filled = 0;
    draft.fields.forEach(function (pair) {
      const at = left.findIndex(function (field) { return field.name === pair[0]; });
      if (at < 0) return;
      const field = left.splice(at, 1)[0];
      field.value = pair[1];
      field.dispatchEvent(new Event("input", { bubbles: true }));
      filled += 1;
    });
    for (let part = form; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    return filled > 0;
  }

  function tell() {
    const notice = document.getElementById("failures").content.querySelector('[data-failure="signed-out"]');
    const errors = document.getElementById("errors");
    if (errors) errors.before(notice.cloneNode(true));
  }

  function arrive() {
    const signIn = document.querySelector("form[data-sign-in]");
    if (signIn) {
      const isSentHere = signIn.elements.namedItem("next").value !== "";
      if (isSentHere) storage.setItem(SIGNED_OUT, "yes");
      else drop();
      const note = document.getElementById("draft-kept");
      note.hidden = !storage.getItem(KEPT);
      return;
    }
    if (!window.pageOwner()) return;
    let draft = null;
    try { draft = JSON.parse(storage.getItem(KEPT)); } catch (error) { draft = null; }
    const isBack = storage.getItem(SIGNED_OUT) !== null;
    storage.removeItem(SIGNED_OUT);
    drop();
    if (!isBack || !draft || draft.owner !== window.pageOwner() || draft.path !== window.location.pathname) return;
    if (refill(draft)) tell();
  }

  // --- Asked about before it is left -------------------------------------------------------------------------------

  function isChanged(field) {
    if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
    const options = Array.from(field.options);
    const first = options.find(function (option) { return option.defaultSelected; }) || options[0];
    return Boolean(first) && field.value !== first.value;
  }

  function isUnsaved(form) {
    return form.isConnected && form !== sent && "guard" in form.dataset && fieldsOf(form).some(isChanged);
  }

  document.addEventListener("input", function (event) {
    const form = event.target.form;
    if (!form) return;
    touched.add(form);
    if (form === sent) sent = null;
  });
  // A form that only shows an effect is saved by another one, which names it.
  document.addEventListener("submit", function (event) {
    const form = event.target;
    sent = form.dataset.saves ? document.getElementById(form.dataset.saves) : form;
    if (isKept(sent)) keep(sent);
  });
  window.addEventListener("pageshow", function () { sent = null; });
  window.addEventListener("beforeunload", function (event) {
    if (Array.from(touched).some(isUnsaved)) event.preventDefault();
  });

  // A request that the page sends by itself while the user types may also be answered with the sign-in page.
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    const asked = event.detail.elt, form = asked.closest("form");
    if (!event.detail.xhr.getResponseHeader("HX-Redirect")) {
      if (asked !== form) return;
      if (form === sent) sent = null;
      if (event.detail.requestConfig.verb === "post") drop();
      return;
    }
    const unsaved = [form].concat(Array.from(touched)).find(function (each) { return each && isKept(each) && isUnsaved(each); });
    if (!unsaved) return;
    keep(unsaved);
    sent = unsaved;
  });

  document.addEventListener("DOMContentLoaded", function () { if (storage) arrive(); });
})();

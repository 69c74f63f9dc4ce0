// A link to a page that asks first (`data-confirm`) opens what that page asks in the one dialog of the frame.
// Whatever does not answer with such a form, an expired log-in for one, is gone to as the link says.
"use strict";

(function () {
  const dialog = document.getElementById("confirm");
  if (!dialog) return;

  function open(answer, address) {
    const asked = new DOMParser().parseFromString(answer, "text/html");
    const form = asked.querySelector("form[data-confirm-form]");
    if (!form) throw new Error("nothing to confirm");
    form.setAttribute("action", form.getAttribute("action") || address);
    form.classList.remove("card", "narrow");
    document.getElementById("confirm-title").textContent = asked.querySelector("h1").textContent;
    const place = document.getElementById("confirm-form");
    place.replaceChildren(document.adoptNode(form));
    place.dispatchEvent(new CustomEvent("page-part-shown", { bubbles: true }));
    dialog.showModal();
    const first = form.querySelector("input:not([type=hidden]), [data-keep]");
    if (first) first.focus();
  }

  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[data-confirm]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.getAttribute("aria-busy") === "true") return;
    link.setAttribute("aria-busy", "true");
    fetch(link.href, { credentials: "same-origin" })
      .then(function (response) {
        if (!response.ok || response.redirected) throw new Error("no page to confirm");
        return response.text();
      })
      .then(function (answer) { open(answer, link.getAttribute("href")); })
      .catch(function () { window.location.assign(link.href); })
      .finally(function () { link.removeAttribute("aria-busy"); });
  });

  dialog.addEventListener("close", function () { document.getElementById("confirm-form").replaceChildren(); });
  dialog.addEventListener("click", function (event) {
    if (event.target !== dialog && !event.target.closest("[data-keep]")) return;
    event.preventDefault();
    dialog.close();
  });
})();

// Two tabs share one sign-in. After another sign-in in one tab, the page in the other tab uses the new token for its next
// request. It also sends the user for whom it was rendered, so that another user does not act through it.
"use strict";

(function () {
  function newestToken() {
    const found = document.cookie.split("; ").find(function (each) { return each.startsWith("csrftoken="); });
    return found ? found.slice("csrftoken=".length) : "";
  }

  function put(form, name, value) {
    const known = form.elements.namedItem(name);
    const field = known || document.createElement("input");
    field.type = "hidden";
    field.name = name;
    field.value = value;
    if (!known) form.append(field);
  }

  // Before anybody reads the form.
  document.addEventListener("submit", function (event) {
    const form = event.target, token = newestToken();
    if (form.method !== "post" || !token) return;
    put(form, "csrfmiddlewaretoken", token);
    if (window.pageOwner()) put(form, "drawn_for", window.pageOwner());
  }, { capture: true });

  document.addEventListener("htmx:configRequest", function (event) {
    const sent = event.detail, token = newestToken();
    if (sent.verb === "get" || !token) return;
    sent.headers["X-CSRFToken"] = token;
    if (sent.formData.has("csrfmiddlewaretoken")) sent.formData.set("csrfmiddlewaretoken", token);
    if (window.pageOwner()) sent.formData.set("drawn_for", window.pageOwner());
  });
})();

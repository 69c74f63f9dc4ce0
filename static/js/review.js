// The review of compactions: single keys, sentences and messages that show each other, who else is here.
// Every page also works without this file: by its links, forms and buttons.
"use strict";

(function () {
  const typing = "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]";

  // --- Sentences, messages and facts lead to each other ------------------------------------------------------------

  const HOVER_MS = 120;
  let hover = 0;

  function part(target) {
    return target.closest ? target.closest(".statement, .candidate, .original, .fact-row, .journal-fact, mark[data-fact]") : null;
  }

  function all(selector) {
    return Array.from(document.querySelectorAll(".review " + selector));
  }

  function linkedTo(element) {
    if (element.dataset.fact) return all('mark[data-fact="' + element.dataset.fact + '"]');
    if (element.dataset.sources !== undefined) {
      const leaving = element.dataset.swapFor ? all('[data-statement="' + element.dataset.swapFor + '"]') : [];
      return element.dataset.sources.split(" ").filter(Boolean).flatMap(function (number) {
        return all('[data-message="' + number + '"]');
      }).concat(leaving);
    }
    return all(".statement").filter(function (statement) {
      return statement.dataset.sources.split(" ").includes(element.dataset.message);
    });
  }

  function clear() {
    all(".is-linked").forEach(function (element) { element.classList.remove("is-linked"); });
  }

  // Only within a pane that scrolls by itself and does not hold what is pointed at: the page never jumps.
  function bringIntoPane(element, from) {
    const pane = element.closest(".review-pane");
    if (!pane || pane.contains(from) || pane.scrollHeight <= pane.clientHeight + 1) return;
    if (getComputedStyle(pane).overflowY !== "auto") return;
    const box = element.getBoundingClientRect(), room = pane.getBoundingClientRect();
    if (box.top >= room.top && box.bottom <= room.bottom) return;
    pane.scrollTop += box.top - room.top - Math.max((room.height - box.height) / 3, 8);
  }

  function show(element) {
    clear();
    const linked = linkedTo(element);
    linked.forEach(function (one) { one.classList.add("is-linked"); });
    element.classList.add("is-linked");
    const away = linked.find(function (one) {
      const pane = one.closest(".review-pane");
      return pane && !pane.contains(element);
    });
    if (away) bringIntoPane(away, element);
  }

  // A pane that scrolls below a mouse that rests is not pointed at: only a mouse that moved points.
  let pointed = "";

  function hasMoved(event) {
    const place = event.screenX + " " + event.screenY;
    const moved = place !== pointed;
    pointed = place;
    return moved;
  }

  // Comes after the mouse is over something, so what follows a scroll has moved nowhere.
  document.addEventListener("mousemove", hasMoved, { passive: true });
  document.addEventListener("mouseover", function (event) {
    if (!hasMoved(event)) return;
    const element = part(event.target);
    window.clearTimeout(hover);
    if (element) hover = window.setTimeout(function () { show(element); }, HOVER_MS);
  });
  document.addEventListener("mouseout", function (event) {
    if (event.screenX + " " + event.screenY === pointed) return;
    const element = part(event.target);
    if (!element || (event.relatedTarget && part(event.relatedTarget) === element)) return;
    window.clearTimeout(hover);
    if (!element.contains(document.activeElement)) clear();
  });
  document.addEventListener("focusin", function (event) {
    const element = part(event.target);
    window.clearTimeout(hover);
    if (element) show(element);
    else if (event.target.closest(".review")) clear();
  });

  // --- Single keys -------------------------------------------------------------------------------------------------

  function isShown(element) {
    return element.getClientRects().length > 0;
  }

  function keyed(key) {
    if (key === "u") {
      const undo = document.querySelector('.flash form[action^="/t/"] button, .flash a[data-confirm]');
      if (undo) return undo;
    }
    const found = Array.from(document.querySelectorAll('[data-key="' + key + '"]')).filter(isShown);
    return found[0] || null;
  }

  // A button that was pressed once is not pressed again while the next page comes.
  let isLeaving = false;

  function open(details) {
    details.open = true;
    const field = details.querySelector("textarea, input:not([type=hidden]), select");
    if (!field) return;
    field.focus();
    if (field.matches("textarea")) field.setSelectionRange(field.value.length, field.value.length);
    field.scrollIntoView({ block: "nearest" });
  }

  function nextMissing() {
    const rows = all("[data-missing]");
    if (!rows.length) return;
    const here = rows.findIndex(function (row) { return row.contains(document.activeElement); });
    const row = rows[(here + 1) % rows.length];
    (row.querySelector("button") || row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function nextCandidate() {
    const buttons = all("[data-candidate]").filter(isShown);
    if (!buttons.length) return;
    const button = buttons[(buttons.indexOf(document.activeElement) + 1) % buttons.length];
    button.focus({ preventScroll: true });
    button.closest(".candidate").scrollIntoView({ block: "nearest" });
  }

  // Keeps or strikes the fact that has the focus and goes to the next one; without one, only goes to the first.
  function decideFact(name) {
    const rows = all("[data-journal]");
    const here = rows.findIndex(function (row) { return row.contains(document.activeElement); });
    const button = here < 0 ? null : rows[here].querySelector('button[name="' + name + '"]');
    const next = rows[here + 1] || rows[here];
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    if (button) button.click();
  }

  function press(key) {
    const element = keyed(key);
    if (!element) return false;
    if (element.tagName === "SUMMARY") open(element.parentElement);
    else if (!isLeaving) element.click();
    return true;
  }

  document.addEventListener("keydown", function (event) {
    if (document.body.dataset.keys === "off" || event.defaultPrevented || event.isComposing || event.repeat) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key !== "?")) return;
    if (event.key === "Escape" && event.target.closest("#edit")) document.querySelector("#edit > summary").focus();
    if (event.target.closest(typing) || document.querySelector("dialog[open], [popover]:popover-open")) return;
    if (!"arujkemcxy?".includes(event.key) || event.key.length !== 1) return;
    if (event.key === "m") nextMissing();
    else if (event.key === "c") nextCandidate();
    else if (event.key === "x") decideFact("strike");
    else if (event.key === "y") decideFact("keep");
    else if (!press(event.key)) return;
    event.preventDefault();
  });
  document.addEventListener("submit", function (event) {
    if (!event.target.closest("[hx-post], [hx-get]") && !event.defaultPrevented) isLeaving = true;
  });
  window.addEventListener("pageshow", function () { isLeaving = false; });

  document.addEventListener("click", function (event) {
    const dialog = document.getElementById("keys");
    if (!dialog) return;
    if (event.target.closest("[data-keys-open]")) dialog.showModal();
    else if (event.target === dialog || event.target.closest("[data-keys-close]")) dialog.close();
  });

  // --- What was typed is not lost ----------------------------------------------------------------------------------

  function isEdited() {
    const text = document.getElementById("id_text");
    return Boolean(text) && text.value !== text.defaultValue;
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    const sender = event.detail.elt;
    if (sender.id === "presence" && document.hidden) event.preventDefault();
    if (sender.matches("[data-changes-text]")) {
      const notice = sender.closest(".card").querySelector("[data-edit-first]") || all("[data-edit-first]")[0];
      notice.hidden = !isEdited();
      if (!isEdited()) return;
      event.preventDefault();
      unanswered -= 1;
    }
  });

  // --- A decision waits for the changes before it ------------------------------------------------------------------

  let unanswered = 0, decision = "";

  document.addEventListener("submit", function (event) {
    const form = event.target, action = form.getAttribute("action") || "";
    if (form.matches("[data-changes-text]") && window.htmx) unanswered += 1;
    if (!unanswered || !/\/(approve|reject)(\?|$)/.test(action)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    decision = action;
  }, true);

  // The answer has put the new version of the text into the form. After a change that failed nothing is decided.
  document.addEventListener("htmx:afterRequest", function (event) {
    if (!event.detail.elt.matches("[data-changes-text]")) return;
    unanswered -= 1;
    if (!event.detail.successful) decision = "";
    if (unanswered || !decision) return;
    const form = document.querySelector('form[action="' + decision + '"]');
    decision = "";
    if (form) form.requestSubmit();
  });

  // An approval saves the edited text first.
  document.addEventListener("submit", function (event) {
    const save = document.getElementById("save-and-approve");
    if (!/\/approve(\?|$)/.test(event.target.getAttribute("action") || "") || !save || !isEdited()) return;
    event.preventDefault();
    isLeaving = false;
    save.click();
  }, true);

  // An append or a swap is taken back in place as well.
  document.addEventListener("submit", function (event) {
    const action = event.target.getAttribute("action") || "";
    if (!/\/(withdraw|swap)\?/.test(action) || !event.target.closest(".flash") || !window.htmx) return;
    event.preventDefault();
    isLeaving = false;
    event.target.closest(".flash").remove();
    window.htmx.ajax("POST", action, { target: "#body", swap: "morph:outerHTML" });
  });

  // --- Who else is here --------------------------------------------------------------------------------------------

  // If the user was signed out, a poll shows this instead of leaving the page.
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    if (event.detail.elt.id !== "presence" || !event.detail.xhr.getResponseHeader("HX-Redirect")) return;
    event.preventDefault();
    const notice = document.createElement("p");
    notice.className = "review-changed";
    notice.textContent = "You are signed out. Copy what you typed, then reload the page.";
    event.detail.elt.replaceChildren(notice);
  });
  document.addEventListener("visibilitychange", function () {
    const presence = document.getElementById("presence");
    if (presence && !document.hidden && window.htmx) window.htmx.trigger(presence, "look-again");
  });
})();

// Background work of this user: polled while a tab is visible, reported as a toast when it has ended (ADR-0085).
// What is watched lies in the browser's storage, which all tabs share, so that leaving the page, another tab or an
// expired log-in loses nothing. Whichever tab shows a toast strikes it off first, so it is shown once.
"use strict";

(function () {
  const place = document.getElementById("finished");
  if (!place) return;
  const KEPT_MS = 24 * 3600 * 1000, DONE_MAX = 50, ASKED_MAX = 20;
  const name = "watched:" + place.dataset.owner;
  let storage, timer = 0, isAsking = false, isSignedOut = false;
  try {
    storage = window.localStorage;
  } catch (error) {
    return; // Without storage there are no toasts; the pages show the progress.
  }

  // {items: {text: {since}}, done: [text]}
  function read() {
    let kept;
    try { kept = JSON.parse(storage.getItem(name)); } catch (error) { kept = null; }
    if (!kept || typeof kept.items !== "object" || !Array.isArray(kept.done)) kept = { items: {}, done: [] };
    Object.keys(kept.items).forEach(function (text) {
      if (Date.now() - kept.items[text].since > KEPT_MS) delete kept.items[text];
    });
    return kept;
  }

  function change(act) {
    const kept = read();
    const result = act(kept);
    storage.setItem(name, JSON.stringify(kept));
    return result;
  }

  function forget(kept, text) {
    delete kept.items[text];
    kept.done = kept.done.filter(function (each) { return each !== text; }).concat(text).slice(-DONE_MAX);
  }

  // The tab that removes it from the list shows it.
  function claim(text) {
    return change(function (kept) {
      if (!kept.items[text]) return false;
      forget(kept, text);
      return true;
    });
  }

  // A page that follows the work by itself already says what has become of it.
  function isSaidHere(toast) {
    return "followed" in toast.dataset && toast.querySelector("a").pathname === window.location.pathname;
  }

  function show(toast) {
    if (document.visibilityState !== "visible" || !claim(toast.dataset.finished) || isSaidHere(toast)) return;
    place.append(toast);
    place.dispatchEvent(new CustomEvent("page-part-shown", { bubbles: true }));
  }

  function take(answer) {
    const parts = new DOMParser().parseFromString(answer, "text/html");
    parts.querySelectorAll("[data-gone]").forEach(function (part) { claim(part.dataset.gone); });
    parts.querySelectorAll("[data-finished]").forEach(function (toast) { show(document.adoptNode(toast)); });
  }

  // One tab at a time where the browser has locks, so that two cannot claim in the same moment.
  function alone(act) {
    if (navigator.locks) navigator.locks.request(name, act);
    else act();
  }

  function asked() {
    return Object.keys(read().items).slice(0, ASKED_MAX);
  }

  // Soon after it was asked for, then at longer and longer intervals.
  function pause() {
    const items = Object.values(read().items);
    if (!items.length) return 0;
    const age = Date.now() - Math.max.apply(null, items.map(function (item) { return item.since; }));
    return Math.min(15000, Math.max(1500, age / 10));
  }

  function later() {
    window.clearTimeout(timer);
    const wait = pause();
    if (wait && !isSignedOut) timer = window.setTimeout(ask, wait);
  }

  // Errors are retried without a message, because the user did not request this.
  function ask() {
    const texts = asked();
    if (document.visibilityState !== "visible" || isAsking || !texts.length) return later();
    isAsking = true;
    const query = texts.map(function (text) { return "item=" + encodeURIComponent(text); }).join("&");
    fetch(place.dataset.address + "?" + query, { credentials: "same-origin", redirect: "manual" })
      .then(function (response) {
        isSignedOut = response.type === "opaqueredirect" || response.status === 403;
        return response.ok ? response.text() : "";
      })
      .then(function (answer) { if (answer) alone(function () { take(answer); }); })
      .catch(function () {})
      .finally(function () { isAsking = false; later(); });
  }

  function note() {
    const found = document.querySelectorAll("[data-watch]");
    if (!found.length) return;
    change(function (kept) {
      found.forEach(function (element) {
        const text = element.dataset.watch;
        if (!kept.items[text] && !kept.done.includes(text)) kept.items[text] = { since: Date.now() };
        element.remove();
      });
    });
    later();
  }

  document.addEventListener("htmx:load", note);
  document.addEventListener("htmx:oobAfterSwap", note);
  document.addEventListener("visibilitychange", function () { isSignedOut = false; ask(); });
  window.addEventListener("storage", function (event) { if (event.key === name) later(); });
  note();
  ask();
})();

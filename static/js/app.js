// Small things a page does by itself. Every page also works without this file.
"use strict";

(function () {
  document.documentElement.classList.add("js");

  // The user for whom the page was rendered, "" without one.
  window.pageOwner = function () {
    const place = document.getElementById("finished");
    return place ? place.dataset.owner : "";
  };

  // Times in the viewer's own zone, in the shape the server writes; the exact one in UTC stays on hover and is read out.
  const timeFormat = new Intl.DateTimeFormat("en-GB", {
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
  });

  function localTime(when) {
    const parts = {};
    timeFormat.formatToParts(when).forEach(function (part) { parts[part.type] = part.value; });
    return parts.day + " " + parts.month.slice(0, 3) + " " + parts.year + ", " + parts.hour + ":" + parts.minute;
  }

  function localiseTimes(root) {
    root.querySelectorAll("time[datetime]").forEach(function (element) {
      const when = new Date(element.getAttribute("datetime"));
      if (Number.isNaN(when.getTime()) || element.querySelector(".time-exact")) return;
      const exact = document.createElement("span");
      exact.className = "time-exact visually-hidden";
      exact.textContent = " (" + element.title + ")";
      element.replaceChildren(localTime(when), exact);
    });
  }

  // A slider and a number field that hold the same value: only the number is sent.
  function sliderOf(field) {
    return field.id ? document.querySelector('input[type="range"][data-for="' + field.id + '"]') : null;
  }

  function rememberTheme(theme) {
    const root = document.documentElement;
    if (theme === "system") root.removeAttribute("data-bs-theme");
    else root.setAttribute("data-bs-theme", theme);
    document.querySelectorAll(".theme button").forEach(function (button) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    });
  }

  function showFailure(kind) {
    const notices = document.getElementById("failures").content;
    const notice = notices.querySelector('[data-failure~="' + kind + '"]') || notices.querySelector('[data-failure="500"]');
    const place = document.getElementById("errors");
    if (place) place.replaceChildren(notice.cloneNode(true));
  }

  function clearFailure() {
    const place = document.getElementById("errors");
    if (place) place.replaceChildren();
  }

  function dismissLater(toast) {
    if (toast.dataset.timed || "lasting" in toast.dataset) return;
    toast.dataset.timed = "yes";
    const seconds = toast.querySelector("form, a") ? 20 : 8;
    let timer = 0;
    const start = function () { timer = window.setTimeout(function () { toast.remove(); }, seconds * 1000); };
    const stop = function () { window.clearTimeout(timer); };
    toast.addEventListener("mouseenter", stop);
    toast.addEventListener("mouseleave", start);
    toast.addEventListener("focusin", stop);
    toast.addEventListener("focusout", start);
    start();
  }

  // A table wider than its place can be moved by keyboard too, where nothing in it takes the focus.
  const widths = new ResizeObserver(function (entries) {
    entries.forEach(function (entry) {
      const place = entry.target;
      const moves = place.scrollWidth > place.clientWidth && !place.querySelector("a, button, input, summary");
      place.toggleAttribute("tabindex", moves);
      if (moves) place.tabIndex = 0;
    });
  });

  function prepare(root) {
    localiseTimes(root);
    root.querySelectorAll(".table-responsive").forEach(function (place) { widths.observe(place); });
    document.querySelectorAll(".flash, .finished").forEach(dismissLater);
  }

  document.addEventListener("DOMContentLoaded", function () { prepare(document); });
  document.addEventListener("htmx:load", function (event) { prepare(event.target); });
  // A morphed row is no new element, but its times are the server's again.
  document.addEventListener("htmx:afterSwap", function () { localiseTimes(document); });
  document.addEventListener("page-part-shown", function (event) { prepare(event.target); });

  document.addEventListener("input", function (event) {
    const field = event.target;
    if (field.dataset.for) {
      const number = document.getElementById(field.dataset.for);
      number.value = field.value;
      number.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (field.type === "number") {
      const slider = sliderOf(field);
      if (slider) slider.value = field.value;
    }
  });

  // Browsers offer the clipboard only on pages over HTTPS and of this machine, and may refuse it; the command copies on
  // other pages too. In an open dialog, only elements inside it can be selected.
  function copyText(text) {
    const byCommand = function () {
      const field = document.createElement("textarea");
      const focused = document.activeElement;
      field.value = text;
      field.className = "visually-hidden";
      (document.querySelector("dialog[open]") || document.body).append(field);
      field.select();
      const isCopied = document.execCommand("copy");
      field.remove();
      if (focused) focused.focus();
      return isCopied;
    };
    if (!navigator.clipboard) return Promise.resolve(byCommand());
    return navigator.clipboard.writeText(text).then(function () { return true; }, byCommand);
  }

  // Shows a text in place of a button's own and says it; the button keeps its width.
  function showForAMoment(button, text) {
    document.getElementById("live").textContent = text;
    if (button.classList.contains("is-done")) return;
    const own = [...button.childNodes];
    button.style.minWidth = button.offsetWidth + "px";
    button.classList.add("is-done");
    button.replaceChildren(text);
    window.setTimeout(function () {
      button.replaceChildren(...own);
      button.classList.remove("is-done");
      button.style.minWidth = "";
    }, 1500);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("button");
    if (button && button.hasAttribute("data-dismiss")) button.closest(".flash, .finished").remove();
    if (button && button.hasAttribute("data-reload")) window.location.reload();
    if (button && button.dataset.copy) {
      copyText(document.getElementById(button.dataset.copy).textContent).then(function (isCopied) {
        showForAMoment(button, isCopied ? "Copied" : "Copying failed");
      });
    }
    document.querySelectorAll("details[data-dropdown][open]").forEach(function (menu) {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details[data-dropdown][open]").forEach(function (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // After a rejected form, the focus moves to the first invalid field, unless the user is still typing.
  function goToWhatIsWrong() {
    const wrong = document.querySelector('main form :is([aria-invalid="true"], .is-invalid)');
    if (wrong) wrong.focus();
  }
  document.addEventListener("DOMContentLoaded", goToWhatIsWrong);
  document.addEventListener("htmx:afterSettle", function (event) {
    const sent = event.detail.requestConfig;
    const isSubmitted = sent && sent.triggeringEvent && sent.triggeringEvent.type === "submit";
    if (isSubmitted && event.detail.xhr.status === 422) goToWhatIsWrong();
  });

  document.addEventListener("theme-chosen", function (event) { rememberTheme(event.detail.value); });

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (document.hidden && event.detail.elt.matches('[hx-trigger^="every "]')) {
      event.preventDefault(); // what polls waits until the page is visible again
      return;
    }
    event.detail.target.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    event.detail.target.removeAttribute("aria-busy");
    if (event.detail.successful) clearFailure();
  });
  // A result that loads after its page arrives when the browser has already restored the anchor, the scroll position and
  // the selected checkboxes. They are kept for one user; the next one who signs in in this tab removes them.
  const LEFT = "left-at";
  const LEFT_MAX = 20;

  function leftAt() {
    const all = JSON.parse(window.sessionStorage.getItem(LEFT) || "[]");
    return all.filter(function (one) { return one.owner === window.pageOwner(); });
  }

  function tickBoxes() { return Array.from(document.querySelectorAll("td input[type=checkbox]")); }

  // A step back over a swap loads the page of before: what is shown until then is of another address.
  let isLeaving = false;
  window.addEventListener("popstate", function (event) { isLeaving = Boolean(event.state && event.state.htmx); });
  // htmx handles steps back and forward only when the page has loaded: after an earlier step, load the page again.
  document.addEventListener("DOMContentLoaded", function () {
    const loaded = window.performance.getEntriesByType("navigation")[0];
    if (!loaded || !history.state || !history.state.htmx) return;
    isLeaving = loaded.name.split("#")[0] !== location.href.split("#")[0];
    if (isLeaving) location.reload();
  });

  window.addEventListener("pagehide", function () {
    if (isLeaving) return;
    const address = window.location.href;
    const selected = tickBoxes().filter(function (box) { return box.checked; }).map(function (box) { return box.value; });
    const others = leftAt().filter(function (one) { return one.address !== address; });
    const left = { owner: window.pageOwner(), address: address, top: window.scrollY, selected: selected };
    const all = window.pageOwner() ? [left].concat(others) : [];
    window.sessionStorage.setItem(LEFT, JSON.stringify(all.slice(0, LEFT_MAX)));
  });

  function comeBack() {
    const left = leftAt().find(function (one) { return one.address === window.location.href; });
    if (!left) return;
    tickBoxes().forEach(function (box) { if (!box.checked && left.selected.includes(box.value)) box.click(); });
    // After the next frame: when boxes are selected, their bar appears which moves the content below it.
    window.requestAnimationFrame(function () { window.scrollTo({ top: left.top, behavior: "instant" }); });
  }

  document.addEventListener("htmx:afterSettle", function (event) {
    const sent = event.detail.requestConfig;
    if (!sent || !sent.elt.matches(".result-loader")) return;
    const anchor = document.getElementById(window.location.hash.slice(1));
    if (window.performance.getEntriesByType("navigation")[0].type !== "navigate") comeBack();
    else if (anchor) anchor.scrollIntoView();
  });

  // A result on its way that failed can be asked for again.
  function failed(event, kind) {
    showFailure(kind);
    const coming = event.detail.elt.closest(".result-loader") || event.detail.target.querySelector(".result-loader");
    if (coming) coming.classList.add("is-failed");
  }
  document.addEventListener("htmx:responseError", function (event) { failed(event, String(event.detail.xhr.status)); });
  document.addEventListener("htmx:sendError", function (event) { failed(event, "network"); });
  document.addEventListener("htmx:timeout", function (event) { failed(event, "timeout"); });
})();

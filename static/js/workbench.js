// The workbench by itself: details stay open while the result changes.
"use strict";

(function () {
  // Opened details stay open when the result is loaded again.
  if (window.Idiomorph) {
    const callbacks = window.Idiomorph.defaults.callbacks;
    const before = callbacks.beforeAttributeUpdated;
    callbacks.beforeAttributeUpdated = function (name, node, mutation) {
      const isOpening = name === "open" && node.tagName === "DETAILS";
      return !isOpening && before(name, node, mutation);
    };
  }
  // The button in the summary of the request copies; it does not fold.
  document.addEventListener("click", function (event) {
    if (event.target.closest("summary [data-copy]")) event.preventDefault();
    const link = event.target.closest('a[href="#request"]');
    const request = link && document.getElementById("request");
    if (request) request.open = true;
  });
})();

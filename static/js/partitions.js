// The tree beside a partition is long: bring the chosen one into its view without moving the page.
(() => {
  "use strict";

  function showChosen() {
    const card = document.querySelector(".tree-column .tree-card");
    const chosen = card && card.querySelector("[aria-current]");
    if (!chosen || card.scrollHeight <= card.clientHeight) return;
    const offset = chosen.getBoundingClientRect().top - card.getBoundingClientRect().top;
    card.scrollTop += offset - card.clientHeight / 2;
  }

  showChosen();
})();

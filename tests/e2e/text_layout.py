"""Find text on a page that covers other text or is cut off."""

from playwright.sync_api import Page

#: Text that continues over the edge of its box is cut off, or covers its neighbour. Scrolling, an ellipsis and a
#: limited number of lines are intended.
_FIND = """() => {
  const BOXES = 'td, th, dt, dd, h1, h2, h3, button, label, summary, a, .btn, .kind';
  const SLACK = 2, styles = new Map(), boxes = new Map(), found = new Set();
  const style = (one) => styles.get(one) || styles.set(one, getComputedStyle(one)).get(one);
  const called = (one) => `${one.tagName.toLowerCase()} "${one.textContent.trim().replace(/\\s+/g, ' ').slice(0, 60)}"`;
  const scrolls = (value) => value === 'auto' || value === 'scroll';
  const isLimited = (css) => css.textOverflow === 'ellipsis' || css.getPropertyValue('--lines');
  const check = (rect, parent) => {
    for (let one = parent; one && one !== document.body; one = one.parentElement) {
      const css = style(one), edge = one.getBoundingClientRect();
      if (edge.width <= 1 || isLimited(css)) return false;
      const over = rect.right > edge.right + SLACK || rect.left < edge.left - SLACK;
      const under = rect.bottom > edge.bottom + SLACK || rect.top < edge.top - SLACK;
      if (scrolls(css.overflowX) || scrolls(css.overflowY)) return true;
      if ((over && css.overflowX !== 'visible') || (under && css.overflowY !== 'visible')) {
        found.add(`${called(parent)} is cut off`);
        return false;
      }
      if (over && css.display !== 'inline' && one.matches(BOXES)) found.add(`${called(one)} is narrower than its text`);
    }
    return true;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const parent = text.parentElement;
    if (!text.data.trim() || parent.closest('svg, select, textarea, script, style, template, noscript')) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    if (parent.matches('details:not([open])')) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const rects = [...range.getClientRects()].filter((rect) => rect.width > 1);
    const shown = rects.filter((rect) => check(rect, parent));
    const box = parent.closest(BOXES);
    if (box && !parent.closest('dialog, [popover], .flash, .skip-link')) {
      boxes.set(box, [...(boxes.get(box) || []), ...shown]);
    }
  }
  const isOverlay = (one) => {
    for (; one && one !== document.body; one = one.parentElement) {
      if (['fixed', 'sticky', 'absolute'].includes(style(one).position)) return true;
    }
    return false;
  };
  const still = [...boxes].filter(([box]) => !isOverlay(box));
  const lines = still.flatMap(([box, rects]) => rects.map((rect) => [rect, box]));
  lines.sort((one, other) => one[0].top - other[0].top);
  lines.forEach(([rect, box], place) => {
    for (let next = place + 1; next < lines.length && lines[next][0].top < rect.bottom - SLACK; next++) {
      const [other, neighbour] = lines[next];
      if (rect.right - SLACK <= other.left || other.right - SLACK <= rect.left) continue;
      if (box.contains(neighbour) || neighbour.contains(box)) continue;
      if (Math.min(rect.bottom, other.bottom) - other.top > 4) found.add(`${called(box)} covers ${called(neighbour)}`);
    }
  });
  return [...found].slice(0, 8);
}"""


def covered_or_cut(page: Page) -> list[str]:
    """Return what is wrong with the text of cells, headings, buttons, labels and links, at most eight faults."""
    found: list[str] = page.evaluate(_FIND)
    return found

// Draws the table of a figure as a chart (uPlot). The table is what counts: it stays, and without this file it is open.
"use strict";

(function () {
  const drawn = new Map();
  const LINES_MAX = 6;
  const POINTS_MAX = 24;
  const DAY_SECONDS = 86400;
  const TICK_PIXELS = 24;
  const AROUND_PLOT_PIXELS = 36;
  const MARK_SPACE_PIXELS = 4;
  const numbers = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
  const compactNumbers = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

  function numberIn(cell) {
    return cell.dataset.value === undefined || cell.dataset.value === "" ? null : Number(cell.dataset.value);
  }

  // What a figure's table says: places, one list of values for each series, texts, marks.
  function readTable(figure) {
    const table = figure.querySelector("table");
    const names = [...table.tHead.rows[0].cells].slice(1).map(function (cell) { return cell.textContent.trim(); });
    const rows = [...table.tBodies[0].rows];
    return {
      names: names,
      texts: rows.map(function (row) { return [...row.cells].map(function (cell) { return cell.textContent.trim(); }); }),
      marks: rows.map(function (row) { return row.dataset.mark || ""; }),
      links: rows.map(function (row) { const link = row.cells[0].querySelector("a"); return link && link.href; }),
      data: [0].concat(names.map(function (_, place) { return place + 1; })).map(function (column) {
        return rows.map(function (row) { return numberIn(row.cells[column]); });
      }),
    };
  }

  // Colours and dashes are defined in the stylesheet; a hidden line has their current values.
  function strokes(figure, count) {
    const probe = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    probe.setAttribute("class", "chart-probe");
    figure.append(probe);
    const styleOf = function (name) {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      line.setAttribute("class", name);
      probe.append(line);
      const style = getComputedStyle(line);
      const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(parseFloat);
      return { stroke: style.stroke, dash: dash, ink: style.color };
    };
    const found = { grid: styleOf("chart-grid"), lines: [] };
    for (let place = 0; place < count; place += 1) found.lines.push(styleOf("chart-line-" + (place % LINES_MAX + 1)));
    probe.remove();
    return found;
  }

  function timeLabels(chart, splits, axis, space, step) {
    return splits.map(function (seconds) {
      const when = new Date(seconds * 1000);
      const isDay = step >= DAY_SECONDS || (when.getHours() === 0 && when.getMinutes() === 0);
      return (isDay ? day : hour).format(when);
    });
  }

  // One notation for an axis: compact only if a label has five digits.
  function placeLabels(chart, splits) {
    const isLong = splits.some(function (value) { return Math.abs(value) >= 10000; });
    return splits.map(function (value) { return (isLong ? compactNumbers : numbers).format(value); });
  }

  function widthOf(chart, labels) {
    return 12 + 7 * Math.max(2, ...(labels || []).map(function (label) { return label.length; }));
  }

  // The smallest step of 1, 2 or 5 times a power of ten at which the ticks fit; at least 1 for whole numbers.
  function tickStep(chart, low, high, isWhole) {
    const ticksMax = Math.max(2, Math.floor((chart.height - AROUND_PLOT_PIXELS) / TICK_PIXELS));
    const least = Math.pow(10, Math.floor(Math.log10((high - low) / ticksMax)));
    for (let power = isWhole ? Math.max(1, least) : least; ; power *= 10) {
      for (const step of [power, 2 * power, 5 * power]) {
        if (Math.ceil(high / step) - Math.floor(low / step) <= ticksMax) return step;
      }
    }
  }

  // The lowest and the highest tick: from zero to a tick above every value; shares to at least a hundred.
  function tickRange(chart, low, high, isShare, isWhole) {
    const lowest = Math.min(0, low);
    const highest = isShare ? Math.max(100, high) : high > lowest ? high : lowest + 1;
    const step = tickStep(chart, lowest, highest, isWhole);
    return [Math.floor(lowest / step) * step, Math.ceil(highest / step) * step];
  }

  function axes(figure, colours, isWhole) {
    const shared = { stroke: colours.grid.ink, grid: { stroke: colours.grid.stroke, width: 1 }, ticks: { show: false },
      font: "12px system-ui, sans-serif" };
    const isTime = figure.dataset.chart === "time";
    const down = Object.assign({ values: placeLabels, size: widthOf, gap: 4 }, shared);
    down.splits = function (chart, axis, low, high) {
      const step = tickStep(chart, low, high, isWhole);
      return Array.from({ length: Math.round((high - low) / step) + 1 }, function (_, place) { return low + place * step; });
    };
    const across = Object.assign({ values: isTime ? timeLabels : placeLabels, size: 28, space: 64, gap: 8 }, shared);
    across.grid = { show: false };
    return [across, down];
  }

  // The vertical scale ends at ticks; bars need room beside the first and the last of them.
  function scales(figure, places, isWhole) {
    const isBars = figure.dataset.shape === "bars";
    const step = places.length > 1 ? places[1] - places[0] : 1;
    const room = isBars || places.length === 1 ? step / 2 : 0;
    return {
      x: { time: figure.dataset.chart === "time", range: [places[0] - room, places[places.length - 1] + room] },
      y: { range: function (chart, low, high) {
        return tickRange(chart, low, high, figure.dataset.unit === "%", isWhole);
      } },
    };
  }

  function tipFor(figure, table) {
    const tip = document.createElement("div");
    tip.className = "chart-tip";
    tip.hidden = true;
    const units = figure.dataset;
    function line(text, stroke) {
      const element = document.createElement("div");
      if (stroke) {
        const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        sample.setAttribute("width", "18");
        sample.setAttribute("height", "8");
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", "M0 4H18");
        path.setAttribute("class", stroke);
        sample.append(path);
        element.append(sample, " ");
      } else {
        element.className = "chart-tip-x";
      }
      element.append(text);
      tip.append(element);
    }
    function placeText(place) {
      const seconds = table.data[0][place];
      if (figure.dataset.chart !== "time") return table.texts[place][0];
      const when = new Date(seconds * 1000);
      return day.format(when) + ", " + hour.format(when);
    }
    return {
      element: tip,
      show: function (chart) {
        const place = chart.cursor.idx;
        tip.hidden = place === null || place === undefined;
        if (tip.hidden) return;
        tip.replaceChildren();
        line(placeText(place));
        table.names.forEach(function (name, number) {
          const text = table.texts[place][number + 1];
          const isGap = table.data[number + 1][place] === null;
          const value = isGap ? "nothing" : text + " " + (text === "1" ? units.unitOfOne : units.unit);
          line(table.names.length > 1 ? name + ": " + value : value,
            table.names.length > 1 ? "chart-line-" + (number % LINES_MAX + 1) : "");
        });
        const right = chart.over.clientWidth - tip.offsetWidth;
        const wanted = chart.cursor.left + 12;
        tip.style.left = Math.max(0, wanted > right ? Math.min(right, chart.cursor.left - tip.offsetWidth - 12) : wanted) + "px";
      },
    };
  }

  function drawMarks(table, colours) {
    return function (chart) {
      const pen = chart.ctx;
      let labelled = -Infinity;
      table.marks.forEach(function (mark, place) {
        if (!mark) return;
        const across = chart.valToPos(table.data[0][place], "x", true);
        pen.save();
        pen.strokeStyle = pen.fillStyle = colours.grid.ink;
        pen.lineWidth = devicePixelRatio;
        pen.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
        pen.beginPath();
        pen.moveTo(across, chart.bbox.top);
        pen.lineTo(across, chart.bbox.top + chart.bbox.height);
        pen.stroke();
        pen.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
        const isRight = across > chart.bbox.left + chart.bbox.width / 2;
        const width = pen.measureText(mark).width;
        const start = isRight ? across - width - 5 * devicePixelRatio : across + 5 * devicePixelRatio;
        pen.textAlign = "left"; // the axes leave it at the right
        pen.textBaseline = "top";
        // On a narrow screen the next label may not fit beside this one; the table has it.
        if (start > labelled) {
          pen.fillText(mark, start, chart.bbox.top + MARK_SPACE_PIXELS * devicePixelRatio);
          labelled = start + width;
        }
        pen.restore();
      });
    };
  }

  // Points where lines would not show them: few values, and values between gaps.
  function pointsOf(values) {
    const places = values.map(function (value, place) { return value === null ? -1 : place; })
      .filter(function (place) { return place >= 0; });
    if (places.length <= POINTS_MAX) return places;
    return places.filter(function (place) {
      return (values[place - 1] ?? null) === null && (values[place + 1] ?? null) === null;
    });
  }

  function series(figure, table, colours) {
    const isBars = figure.dataset.shape === "bars";
    return [{}].concat(table.names.map(function (name, place) {
      const style = colours.lines[place];
      // Where two series meet, the dot of the first is seen inside the ring of the other.
      const isRing = place > 0;
      const one = { label: name, stroke: style.stroke, width: 2, dash: style.dash, points: {
        show: true, size: isRing ? 10 : 5, width: 1.5, fill: isRing ? "transparent" : style.stroke, filter: function () { return pointsOf(table.data[place + 1]); } } };
      if (!isBars) return one;
      const paths = uPlot.paths.bars({ size: [0.72, 48], radius: 0.08 });
      return Object.assign(one, { fill: style.stroke, width: 0, dash: [], points: { show: false }, paths: paths });
    }));
  }

  function draw(figure) {
    const area = figure.querySelector(".chart-area");
    const table = readTable(figure);
    const width = area.clientWidth;
    if (!width || !table.data[0].length) return;
    forget(figure);
    area.replaceChildren();
    const colours = strokes(figure, table.names.length);
    const tip = tipFor(figure, table);
    const isWhole = table.data.slice(1).every(function (values) {
      return values.every(function (value) { return value === null || Number.isInteger(value); });
    });
    const chart = new uPlot({
      width: width, height: area.clientHeight, padding: [8, 26, 0, 0], legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: scales(figure, table.data[0], isWhole), axes: axes(figure, colours, isWhole), series: series(figure, table, colours),
      hooks: { setCursor: [tip.show], draw: [drawMarks(table, colours)] },
    }, table.data, area);
    chart.over.append(tip.element);
    // A point leads where its row of the table leads.
    if (table.links.some(Boolean)) {
      chart.over.classList.add("chart-links");
      chart.over.addEventListener("click", function () {
        const link = table.links[chart.cursor.idx];
        if (link) window.location.assign(link);
      });
    }
    drawn.set(figure, { chart: chart, values: JSON.stringify([table.data, table.names, table.marks]) });
  }

  function forget(figure) {
    const former = drawn.get(figure);
    if (former) former.chart.destroy();
    drawn.delete(figure);
  }

  // Draws what is new, what was morphed into something else, and what was not wide enough to be drawn before.
  function drawAll() {
    drawn.forEach(function (_, figure) { if (!figure.isConnected) forget(figure); });
    document.querySelectorAll("figure[data-chart]").forEach(function (figure) {
      const area = figure.querySelector(".chart-area");
      if (!area || !figure.querySelector("table")) return;
      watcher.observe(area);
      const table = readTable(figure);
      const former = drawn.get(figure);
      const isSame = former && area.contains(former.chart.root)
        && former.values === JSON.stringify([table.data, table.names, table.marks]);
      if (!isSame) draw(figure);
    });
  }

  function drawAnew() {
    [...drawn.keys()].forEach(draw);
  }

  const watcher = new ResizeObserver(function (entries) {
    entries.forEach(function (entry) {
      const figure = entry.target.closest("figure[data-chart]");
      const known = figure && drawn.get(figure);
      const width = entry.target.clientWidth;
      if (!figure || !width) return;
      if (!known) draw(figure);
      else if (known.chart.width !== width) known.chart.setSize({ width: width, height: entry.target.clientHeight });
    });
  });

  document.addEventListener("DOMContentLoaded", drawAll);
  document.addEventListener("htmx:load", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("page-part-shown", drawAll);
  new MutationObserver(drawAnew).observe(document.documentElement, { attributes: true, attributeFilter: ["data-bs-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAnew);
})();

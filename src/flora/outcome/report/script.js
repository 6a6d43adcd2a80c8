"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const charts = [...document.querySelectorAll(".chart")];
  const many = data.trials.length > data.mostMarks;
  const hover = "%{text}<extra></extra>";
  let chosenParty = -1;

  // The page's colours, so that charts follow light, dark and paper.
  function template() {
    const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--soft"), fixedrange: false };
    return { layout: {
      paper_bgcolor: colour("--paper"), plot_bgcolor: colour("--paper"), xaxis: axis, yaxis: axis,
      font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: 12 },
      hoverlabel: { bgcolor: colour("--shade"), bordercolor: colour("--soft"), font: { color: colour("--ink") } },
      shapedefaults: { line: { color: colour("--ink") } },
    } };
  }

  function trace(parties, place, chosen) {
    const { color, symbol } = parties[0];
    return {
      type: "scatter", mode: "markers", hovertemplate: hover, opacity: chosenParty < 0 || chosen ? 0.85 : 0.12,
      x: parties.flatMap((party) => place(party)[0]), y: parties.flatMap((party) => place(party)[1]),
      text: parties.flatMap((party) => party.text.map((text) => `${party.name}<br>${text}`)),
      marker: {
        color: many && chosen ? data.highlight : color, symbol, size: many ? 6 : 8, line: { color: "#333333", width: many ? 0 : 0.7 },
      },
    };
  }

  // Many parties look alike, so one trace holds them all: a trace for each would take seconds to draw.
  function partyTraces(place) {
    if (!many) return data.trials.map((party, k) => trace([party], place, k === chosenParty));
    const chosen = data.trials.filter((_, k) => k === chosenParty);
    return [trace(data.trials, place, false), ...(chosen.length ? [trace(chosen, place, true)] : [])];
  }

  function trialsFigure(k) {
    const shown = data.trials.filter((_, j) => chosenParty < 0 || j === chosenParty);
    const best = {
      type: "scatter", mode: "markers", hoverinfo: "skip",
      x: shown.map((party) => party.at[k][party.best]), y: shown.map((party) => party.loss[party.best]),
      marker: { symbol: "circle-open", size: 14, color: "#808080", line: { width: 2 } },
    };
    const layout = { xaxis: data.map.axes[k], yaxis: { title: { text: "loss" }, range: data.lossRange }, shapes: data.lines[k] };
    return { data: [...partyTraces((party) => [party.at[k], party.loss]), best], layout };
  }

  function mapped(i, j) {
    const losses = data.map.losses[`${Math.min(i, j)},${Math.max(i, j)}`];
    return i < j ? losses : losses[0].map((_, column) => losses.map((row) => row[column]));
  }

  function chosenAxes() {
    return [Number(find("map-across").value), Number(find("map-up").value)];
  }

  function mapFigure() {
    const [i, j] = chosenAxes();
    const field = {
      type: "heatmap", x: data.map.grids[i], y: data.map.grids[j], z: mapped(i, j), colorscale: "Cividis", reversescale: true,
      zmin: data.map.low, zmax: data.map.high, hovertemplate: "predicted loss %{z:.4g}<extra></extra>",
      colorbar: { orientation: "h", thickness: 12, y: -0.22, yanchor: "top", title: { text: "predicted loss", side: "bottom" } },
    };
    const marks = data.map.marks.map((at, k) => ({
      type: "scatter", mode: "markers", x: [at[i]], y: [at[j]], text: [data.map.marktexts[k]], hovertemplate: hover,
      name: k === 0 ? "recommended" : "default",
      marker: { symbol: k === 0 ? "star" : "x", size: k === 0 ? 20 : 14, color: "#ffffff", line: { color: "#000000", width: 1.8 } },
    }));
    const trials = partyTraces((party) => [party.at[i], party.at[j]]);
    return { data: [field, ...trials, ...marks], layout: { xaxis: data.map.axes[i], yaxis: { ...data.map.axes[j], automargin: true }, height: 520 } };
  }

  // The map in numbers: at most seven values of each HP, from end to end.
  function fillMapTable() {
    const [i, j] = chosenAxes();
    const z = mapped(i, j);
    const few = (count) => [...new Set([...Array(Math.min(7, count)).keys()].map((k) => Math.round(k * (count - 1) / Math.max(1, Math.min(7, count) - 1))))];
    const cell = (kind, text, scope) => {
      const made = document.createElement(kind);
      made.textContent = text;
      if (scope) made.scope = scope;
      return made;
    };
    const row = (cells) => { const made = document.createElement("tr"); made.append(...cells); return made; };
    const columns = few(data.map.labels[i].length);
    const name = (id) => find(id).selectedOptions[0].textContent;
    const corner = `${name("map-up")} (down), ${name("map-across")} (across)`;
    const head = row([cell("th", corner, "col"), ...columns.map((k) => cell("th", data.map.labels[i][k], "col"))]);
    const body = few(data.map.labels[j].length).map((m) => row([cell("th", data.map.labels[j][m], "row"), ...columns.map((k) => cell("td", z[m][k].toPrecision(4)))]));
    find("map-table").replaceChildren(head, ...body);
  }

  function figureOf(id) {
    if (id === "map") return mapFigure();
    if (id.startsWith("trials-")) return trialsFigure(Number(id.slice(7)));
    return data.figures[id];
  }

  function draw(chart, width) {
    const figure = structuredClone(figureOf(chart.id));  // Plotly writes into what it is given
    const panel = chart.closest(".panels") !== null;
    const layout = {
      height: panel ? 250 : 380, margin: { l: 58, r: 14, t: 14, b: 52 }, showlegend: false, dragmode: false, ...figure.layout,
      template: template(), autosize: width === undefined, width,
    };
    const config = { responsive: true, displaylogo: false, displayModeBar: chart.id === "map" ? "hover" : false };
    return Plotly.react(chart, figure.data, layout, config);
  }

  // The place is kept before the chart is there, so that nothing moves under the reader.
  function keepPlace(chart) {
    const figure = data.figures[chart.id];
    const height = chart.id === "map" ? 520 : figure?.layout.height ?? (chart.closest(".panels") ? 250 : 380);
    chart.style.minHeight = `${height}px`;
  }

  function drawAll() {
    for (const chart of charts) draw(chart);
  }

  function onAxis(changed, other, before) {
    const select = find(changed);
    select.addEventListener("change", () => {
      if (select.value === find(other).value) find(other).value = before[changed];  // the two change places
      before["map-across"] = find("map-across").value;
      before["map-up"] = find("map-up").value;
      draw(find("map"));
      fillMapTable();
    });
  }

  if (find("map")) {
    const before = { "map-across": find("map-across").value, "map-up": find("map-up").value };
    onAxis("map-across", "map-up", before);
    onAxis("map-up", "map-across", before);
    fillMapTable();
  }
  for (const select of document.querySelectorAll("select.party")) {
    select.addEventListener("change", () => {
      chosenParty = Number(select.value) - 1;
      for (const other of document.querySelectorAll("select.party")) other.value = select.value;
      for (const chart of charts) if (chart.id === "map" || chart.id.startsWith("trials-")) draw(chart);
    });
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is light and narrow, and hears of it before the browser lays it out.
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    for (const chart of charts) draw(chart, chart.closest(".panels") ? 330 : 690);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    drawAll();
  });

  // One chart at a time, so that the page can be read and scrolled from the start.
  charts.forEach(keepPlace);
  const waiting = [...charts];
  (function next() {
    if (waiting.length === 0) { root.dataset.drawn = "all"; return; }
    draw(waiting.shift());
    setTimeout(next);
  })();
})();

"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const find = (id) => document.getElementById(id);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const share = (place) => `${+(100 * place).toFixed(2)}%`;

  // What a mark or a word means, beside the pointer or the keyboard's focus.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  for (const word of all(".term")) {
    word.dataset.tip = word.title;
    word.removeAttribute("title");
  }
  function textOf(target) {
    const said = target.closest("[data-tip]");
    if (said) return said.dataset.tip;
    const group = target.closest("use") && target.closest(".party");
    return group ? data.texts[group.dataset.party][[...group.children].indexOf(target.closest("use"))] : "";
  }
  function showTip(text, x, y) {
    tip.textContent = text;
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
    tip.style.top = `${y + 16 + height > innerHeight ? Math.max(4, y - height - 12) : y + 16}px`;
  }
  // Where the pointer was last: what scrolls under it is what it is on.
  let pointer = { clientX: -1, clientY: -1 };
  function tipOfPointer() {
    const { clientX, clientY } = pointer;
    const target = document.elementFromPoint(clientX, clientY);
    if (target) showTip(textOf(target) || mapText({ target, clientX, clientY }), clientX, clientY);
  }
  for (const kind of ["pointermove", "pointerdown"])
    document.addEventListener(kind, (event) => { pointer = event; tipOfPointer(); });
  function tipOfFocus() {
    const word = document.activeElement;
    const box = word.getBoundingClientRect();
    showTip(word.matches(".term") ? textOf(word) : "", box.left, box.bottom - 10);
  }
  document.addEventListener("focusin", tipOfFocus);
  document.addEventListener("focusout", () => showTip(""));
  addEventListener("keydown", (event) => { if (event.key === "Escape") showTip(""); });
  // Focus on a word out of sight scrolls to it: the tip goes along.
  addEventListener("scroll", () => (document.activeElement.matches(".term") ? tipOfFocus() : tipOfPointer()), { passive: true });

  // The map: another picture, other ticks, and the same marks elsewhere.
  const map = find("map") && data.map;
  const axes = () => [Number(find("map-across").value), Number(find("map-up").value)];
  const key = (i, j) => `${Math.min(i, j)},${Math.max(i, j)}`;
  function lossAt(i, j, across, up) {
    const losses = map.losses[key(i, j)];
    return i < j ? losses[up][across] : losses[across][up];
  }
  const nearest = (grid, place) => grid.reduce((best, x, k) => (Math.abs(x - place) < Math.abs(grid[best] - place) ? k : best), 0);
  function mapText(event) {
    if (!map || !event.target.closest("#map image")) return "";
    const box = event.target.closest("#map image").getBoundingClientRect();
    const [i, j] = axes();
    const across = nearest(map.grids[i], (event.clientX - box.left) / box.width);
    const up = nearest(map.grids[j], 1 - (event.clientY - box.top) / box.height);
    const loss = `predicted loss ${lossAt(i, j, across, up)}`;
    return `${loss}\n${map.names[i]} = ${map.labels[i][across]}\n${map.names[j]} = ${map.labels[j][up]}`;
  }
  function svg(name, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    made.textContent = text;
    return made;
  }
  const shorter = (name) => (name.length <= 40 ? name : `${name.slice(0, 39)}…`);
  function drawMap() {
    const [i, j] = axes();
    const place = find("map");
    const image = place.querySelector("image");
    image.setAttribute("href", map.pictures[key(i, j)]);
    image.setAttribute("transform", i < j ? "" : "matrix(0 -1 -1 0 1000 1000)");
    const across = map.ticks[i].map(([x, text]) => svg("text", { x: share(x), y: "100%", dy: 16, class: "tick", "text-anchor": "middle" }, text));
    const up = map.ticks[j].map(([y, text]) => svg("text", { x: 0, dx: -6, y: share(1 - y), dy: 4, class: "tick", "text-anchor": "end" }, text));
    place.querySelector(".across").replaceChildren(...across, svg("text", { x: "50%", y: "100%", dy: 34, class: "axis", "text-anchor": "middle" }, shorter(map.names[i])));
    place.querySelector(".up").replaceChildren(...up, svg("text", { x: 0, y: 0, dx: -44, dy: -9, class: "axis" }, shorter(map.names[j])));
    const move = (mark, x, y) => { mark.setAttribute("x", share(x)); mark.setAttribute("y", share(1 - y)); };
    for (const group of all(".party", place)) {
      const at = map.trials[group.dataset.party];
      all("use", group).forEach((mark, k) => move(mark, at[i][k], at[j][k]));
    }
    for (const [k, name] of ["#star", "#cross"].entries()) {
      for (const mark of all(`.config[href="${name}"]`, place)) move(mark, map.marks[k][i], map.marks[k][j]);
    }
    fillMapTable(i, j);
  }
  // The map in numbers: at most seven values of each HP, from end to end.
  function fillMapTable(i, j) {
    const few = (count) => [...new Set([...Array(Math.min(7, count)).keys()].map((k) => Math.round(k * (count - 1) / Math.max(1, Math.min(7, count) - 1))))];
    const cell = (kind, text, scope) => {
      const made = document.createElement(kind);
      made.textContent = text;
      if (scope) made.scope = scope; else made.className = "number";
      return made;
    };
    const row = (cells) => { const made = document.createElement("tr"); made.append(...cells); return made; };
    const columns = few(map.labels[i].length);
    const corner = `${map.names[j]} (down), ${map.names[i]} (across)`;
    const head = row([cell("th", corner, "col"), ...columns.map((k) => cell("th", map.labels[i][k], "col"))]);
    const body = few(map.labels[j].length).map((m) => row([cell("th", map.labels[j][m], "row"), ...columns.map((k) => cell("td", lossAt(i, j, k, m).toPrecision(3)))]));
    find("map-table").replaceChildren(head, ...body);
  }
  function onAxis(changed, other, before) {
    const select = find(changed);
    select.addEventListener("change", () => {
      if (select.value === find(other).value) find(other).value = before[changed];  // the two change places
      before["map-across"] = find("map-across").value;
      before["map-up"] = find("map-up").value;
      drawMap();
    });
  }
  if (map && find("map-across")) {
    const before = { "map-across": find("map-across").value, "map-up": find("map-up").value };
    onAxis("map-across", "map-up", before);
    onAxis("map-up", "map-across", before);
    fillMapTable(...axes());
  }

  // One party's trials before the others'.
  for (const select of all("select.party")) {
    select.addEventListener("change", () => {
      for (const other of all("select.party")) other.value = select.value;
      const chosen = String(Number(select.value) - 1);
      for (const chart of all(".chart")) chart.classList.toggle("faded", chosen !== "-1" && chart.querySelector(".party") !== null);
      for (const group of all(".party[data-party]")) group.classList.toggle("picked", group.dataset.party === chosen);
    });
  }

  // A phone shows the answer, and the rest by its headings; paper shows everything.
  const folds = all("details");
  if (innerWidth < 700) for (const fold of all("details.section")) fold.open = fold.closest("#answer") !== null;
  function openTarget() {
    const target = location.hash.length > 1 && find(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.querySelector("details.section");
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  }
  addEventListener("hashchange", openTarget);
  openTarget();
  let before = [];
  addEventListener("beforeprint", () => { before = folds.map((fold) => fold.open); for (const fold of folds) fold.open = true; });
  addEventListener("afterprint", () => folds.forEach((fold, k) => { fold.open = before[k]; }));

  // Where the reader is, in the list of contents.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
    const here = [...links.keys()].find((id) => seen.get(id));
    if (here) for (const [id, link] of links) link.classList.toggle("here", id === here);
  }, { rootMargin: "-5% 0px -55% 0px" });
  for (const id of links.keys()) observer.observe(find(id));
  root.dataset.drawn = "all";
})();

"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const shown = {};
  function show(id, html) {
    if (shown[id] === html) return; // what has not changed keeps its place and its focus
    shown[id] = html;
    find(id).innerHTML = html;
  }
  async function look() {
    try {
      const reply = await fetch("now", { cache: "no-store" });
      const now = await reply.json();
      if (now.finished) return location.reload();
      find("line").textContent = now.line;
      show("steps", now.steps);
      show("surface", now.surface);
    } catch {
      find("line").textContent = "The command that serves this page has ended; what is shown is what it saw last.";
    }
    setTimeout(look, 1000);
  }
  look();
})();

"use strict";
// Every word of the query must begin a word of a line, in its order; an id or a part of it is found too. An address may
// hold the query: index.html?q=31+8/5
(function () {
  const box = document.getElementById("search");
  const found = document.getElementById("found");
  const up = box.dataset.up;
  const most = 30;

  function fits(line, words) {
    let at = 0;
    return words.every(function (word) {
      while (at < line.length && !line[at].startsWith(word)) at += 1;
      at += 1;
      return at <= line.length;
    });
  }

  function show() {
    const text = box.value.trim().toLowerCase();
    const words = text.split(/\s+/);
    const hits = text === "" ? [] : window.ENTRIES.filter(function (entry) {
      return fits(entry[0].split(" "), words) || entry[3].toLowerCase().includes(text);
    });
    found.replaceChildren();
    hits.slice(0, most).forEach(function (entry) {
      const link = document.createElement("a");
      link.href = up + entry[2];
      link.textContent = entry[0] + ": " + entry[1];
      const item = document.createElement("li");
      item.append(link);
      found.append(item);
    });
    if (text !== "" && (hits.length > most || hits.length === 0)) {
      const item = document.createElement("li");
      item.textContent = hits.length ? (hits.length - most) + " more" : "nothing found";
      found.append(item);
    }
  }

  function unfold() {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  }

  box.value = new URLSearchParams(location.search).get("q") || "";
  box.addEventListener("input", show);
  window.addEventListener("hashchange", unfold);
  unfold();
  show();
})();

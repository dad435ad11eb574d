"use strict";
const cards = [...document.querySelectorAll(".card")];
const places = new Map(cards.map((card, place) => [card, place]));
const orders = {
  given: (a, b) => places.get(a) - places.get(b),
  certain: (a, b) => b.dataset.margin - a.dataset.margin,
  doubtful: (a, b) => a.dataset.margin - b.dataset.margin,
  outside: (a, b) => b.dataset.outside - a.dataset.outside,
  name: (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, {numeric: true}),
};
const sort = document.getElementById("sort");
const find = document.getElementById("find");
const count = document.getElementById("count");

sort.addEventListener("change", () => {
  for (const grid of document.querySelectorAll(".grid"))
    grid.append(...[...grid.children].sort(orders[sort.value]));
});

find.addEventListener("input", () => {
  const wanted = find.value.trim().toLowerCase();
  let shown = 0;
  for (const card of cards) {
    const text = (card.dataset.name + " " + card.dataset.label).toLowerCase();
    const hit = text.includes(wanted);
    card.classList.toggle("hidden", !hit);
    shown += hit;
  }
  count.textContent = wanted ? shown + " of " + cards.length : "";
});

"use strict";
const byId = (id) => document.getElementById(id);
const cards = [...document.querySelectorAll(".card, .row")];
const places = new Map(cards.map((card, place) => [card, place]));
const [sort, find, count, large, picture] =
  ["sort", "find", "count", "large", "picture"].map(byId);

// --- Sorting and finding

const doubt = (a, b) => a.dataset.right - b.dataset.right || a.dataset.margin - b.dataset.margin;
const orders = {
  given: (a, b) => places.get(a) - places.get(b),
  certain: (a, b) => doubt(b, a),
  doubtful: doubt,
  outside: (a, b) => b.dataset.outside - a.dataset.outside,
  name: (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, {numeric: true}),
};

sort.addEventListener("change", () => {
  for (const grid of document.querySelectorAll(".grid, .list"))
    grid.append(...[...grid.children].sort(orders[sort.value]));
});

find.addEventListener("input", () => {
  const wanted = find.value.trim().toLowerCase();
  const shown = new Set(), all = new Set();  // an image may have a card and a row
  for (const card of cards) {
    const {name, row, label} = card.dataset;
    const text = [name, label, corrections.get(row)].join(" ").toLowerCase();
    const hit = text.includes(wanted);
    card.classList.toggle("hidden", !hit);
    all.add(row ?? name);
    if (hit) shown.add(row ?? name);
  }
  count.textContent = wanted ? shown.size + " of " + all.size : "";
});

// --- One image, large

let thumb = null;

function neighbor(step) {
  const around = thumb.closest(".grid, .list, .examples");
  const shown = [...around.querySelectorAll(".thumb")].filter((each) => each.offsetParent);
  return shown[shown.indexOf(thumb) + step];
}

function show(chosen) {
  if (!chosen) return;
  thumb = chosen;
  const card = thumb.closest(".card, .row");
  const small = thumb.querySelector("img");
  picture.onerror = () => {  // the file was moved, or is of a kind unknown to browsers
    picture.onerror = null;
    if (small) picture.src = small.src; else picture.removeAttribute("src");
  };
  picture.src = thumb.href;
  picture.alt = byId("which").textContent = card ? card.dataset.name : small ? small.alt : "";
  const facts = card ? [...card.querySelectorAll("b, i, .then, .outside")] : [];
  byId("facts").textContent = facts.map((each) => each.textContent).join(" · ");
  byId("correct").hidden = !card || card.dataset.row === undefined;
  if (card) byId("right").value = label(card);
  byId("fresh").value = "";
  byId("previous").disabled = !neighbor(-1);
  byId("next").disabled = !neighbor(1);
  if (!large.open) large.showModal();
}

document.addEventListener("click", (event) => {
  const clicked = event.target.closest(".thumb");
  if (clicked && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    show(clicked);
  } else if (event.target === large) large.close();  // beside what it shows
});
byId("previous").addEventListener("click", () => show(neighbor(-1)));
byId("next").addEventListener("click", () => show(neighbor(1)));
byId("close").addEventListener("click", () => large.close());
large.addEventListener("keydown", (event) => {
  if (event.target.closest("select, input")) return;
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (step) show(neighbor(step));
});

// --- Right labels for wrong ones

const corrections = new Map();  // row -> its label
let unsaved = false;

function label(card) {
  const {row, novel} = card.dataset;
  return corrections.get(row) ?? (novel === undefined ? card.dataset.label : "");
}

function rename(place, name) {  // as `cut` in cards.py
  place.title = name;
  const [head, tail] = place.children;
  head.textContent = name.slice(0, -9);
  tail.textContent = name.slice(-9);
}

function correct(right) {
  const {row} = thumb.closest(".card, .row").dataset;
  corrections.set(row, right);
  unsaved = true;
  for (const card of cards)
    if (card.dataset.row === row) {
      card.classList.add("corrected");
      rename(card.querySelector("b .cut"), right || "none of them");
      card.querySelector("i").textContent = "by you";
    }
  const known = [...byId("right").options].some((each) => each.value === right);
  if (!known) byId("right").add(new Option(right, right), byId("right").options[0]);
  byId("download").hidden = false;
  byId("download").textContent = `corrected.csv (${corrections.size})`;
  show(thumb);
}

function cell(text) {  // what a spreadsheet would take for a formula is made text
  const number = /^[-+]?[\d.]+(e[-+]?\d+)?$/.test(text);
  const plain = /^[=+\-@\t\r']/.test(text) && !number ? "'" + text : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function table() {
  const rows = cards.filter((card) => card.classList.contains("row"));
  const lines = rows.sort((a, b) => (a.dataset.name < b.dataset.name ? -1 : 1)).map((row) => {
    const by = corrections.has(row.dataset.row) ? "you" : "model";
    return [row.dataset.name, label(row), by].map(cell).join(",");
  });
  return ["file,label,labelled_by", ...lines, ""].join("\n");
}

byId("right").addEventListener("change", (event) => correct(event.target.value));
byId("fresh").addEventListener("change", (event) => {
  if (event.target.value.trim()) correct(event.target.value.trim());
});
byId("download").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([table()], {type: "text/csv"}));
  link.download = "corrected.csv";
  link.click();
  unsaved = false;
});
addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});

"use strict";
const textOf = (row, column) => row.cells[column].textContent;
const numberOf = (row, column) => {
  const value = row.cells[column].dataset.v;
  return value === undefined ? NaN : Number(value);
};
const compareTexts = (a, b, column) =>
  textOf(a, column).localeCompare(textOf(b, column), "en", {numeric: true});
const sorted = (rows, column, order) => {
  if (order === "none") return rows;
  const isNumber = row => !isNaN(numberOf(row, column));
  const hasNumbers = rows.some(isNumber);
  const first = hasNumbers ? rows.filter(isNumber) : rows;
  const last = hasNumbers ? rows.filter(row => !isNumber(row)) : [];
  const sign = order === "descending" ? -1 : 1;
  const compare = (a, b) =>
    hasNumbers ? numberOf(a, column) - numberOf(b, column) : compareTexts(a, b, column);
  return [...[...first].sort((a, b) => sign * compare(a, b)), ...last];
};
const next = {none: "ascending", ascending: "descending", descending: "none"};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const order = next[heading.getAttribute("aria-sort") || "none"];
      headings.forEach(other => other.removeAttribute("aria-sort"));
      if (order !== "none") heading.setAttribute("aria-sort", order);
      body.append(...sorted(rows, column, order));
    });
  });
}
// Opens folded parts before printing, so that they are printed too.
const opened = [];
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    opened.push(details);
  }
});
addEventListener("afterprint", () => {
  for (const details of opened.splice(0)) details.open = false;
});

"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  // Charts and the library that draws them are packed, which makes the page half as large.
  async function unpack(id) {
    const letters = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  const loading = Promise.all([unpack("data"), unpack("library")]).then(([data, library]) => {
    (0, eval)(library);
    return JSON.parse(data);
  });
  let drawing = loading;

  const nameTheme = () => root.dataset.theme ?? (system.matches ? "dark" : "light");

  // What all charts are set to: the names that are switched off, and the theme.
  const readSwitches = () => ({
    hidden: [...document.querySelectorAll("[data-algorithm]:not(:checked)")].map((box) => box.dataset.algorithm),
    dark: nameTheme() === "dark",
  });

  const applySwitches = ({ view }) => {
    for (const [name, value] of Object.entries(readSwitches())) view.signal(name, value);
    return view.runAsync();
  };

  async function drawChart(id, spec, themes) {
    drawn.get(id)?.finalize();
    const theme = nameTheme();
    const chart = await vegaEmbed(document.getElementById(id), spec, {
      renderer: "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
      config: themes[theme],
      tooltip: { theme },
      downloadFileName: id,
    });
    drawn.set(id, chart);
    await applySwitches(chart);
  }

  function drawAll() {
    drawing = drawing.then(async () => {
      const { charts, themes } = await loading;
      for (const [id, spec] of Object.entries(charts)) await drawChart(id, spec, themes);
    });
  }

  function sortTable(header) {
    const table = header.closest("table");
    const place = [...header.parentNode.children].indexOf(header);
    const up = header.getAttribute("aria-sort") !== "ascending";
    const numeric = header.classList.contains("number");
    const read = (row) => {
      const cell = row.cells[place];
      return numeric ? (cell.dataset.value === undefined ? null : Number(cell.dataset.value)) : cell.textContent;
    };
    const compare = (one, other) => {
      if (one === null || other === null) return (one === null) - (other === null); // empty cells last
      const order = numeric ? one - other : one.localeCompare(other, "en", { numeric: true });
      return up ? order : -order;
    };
    const rows = [...table.tBodies[0].rows].map((row) => [read(row), row]);
    rows.sort(([one], [other]) => compare(one, other));
    table.tBodies[0].append(...rows.map(([, row]) => row));
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
  }

  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  // Spreadsheets take a text for a formula if it begins like one.
  const disarm = (text) => (/^[=+@\t\r-]/.test(text) && isNaN(text) ? `'${text}` : text);

  // Exact values, with the bounds of intervals in separate columns.
  function writeCsv(table) {
    const columns = [...table.tHead.rows[0].cells];
    const parts = (column) => ("interval" in column.dataset ? ["", "_low", "_high"] : [""]);
    const names = columns.flatMap((column) => parts(column).map((part) => column.dataset.name + part));
    const rows = [...table.tBodies[0].rows].map((row) =>
      columns.flatMap((column, place) => {
        const { textContent, dataset } = row.cells[place];
        if (!column.classList.contains("number")) return [disarm(textContent)];
        return parts(column).map((part) => dataset[part.slice(1) || "value"] ?? "");
      })
    );
    return [names, ...rows].map((row) => row.map(quote).join(",") + "\n").join("");
  }

  function downloadCsv(button) {
    const text = writeCsv(document.getElementById(button.dataset.table));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Show whether a table is wider or longer than its place, and whether columns are left at its right.
  function hintAtMore(box) {
    const left = box.scrollWidth - box.clientWidth;
    box.parentNode.querySelector(".hint").hidden = left < 2;
    box.parentNode.querySelector(".down").hidden = box.scrollHeight - box.clientHeight < 2;
    box.classList.toggle("more", left - box.scrollLeft > 1);
  }

  // Served by `harmonium study watch`: reload the page when the store has grown.
  async function followStudy() {
    const answer = await fetch("version").catch(() => null);
    if (answer?.ok && (await answer.text()) !== document.body.dataset.version) location.reload();
  }

  document.addEventListener("click", ({ target }) => {
    if (target.matches("th button")) sortTable(target.parentNode);
    if (target.matches("button.csv")) downloadCsv(target);
  });
  document.querySelector(".switches")?.addEventListener("change", () => drawn.forEach(applySwitches));
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = nameTheme() === "dark" ? "light" : "dark";
    drawAll();
  });
  system.addEventListener("change", drawAll);
  for (const box of document.querySelectorAll(".scroll")) {
    box.addEventListener("scroll", () => hintAtMore(box), { passive: true });
    new ResizeObserver(() => hintAtMore(box)).observe(box);
  }
  if ("version" in document.body.dataset) setInterval(followStudy, 5000);
  drawAll();
})();

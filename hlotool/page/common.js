// What every page has: figures in words, tables that sort, panels, and the chart of memory over time.
const data = JSON.parse(document.getElementById("data").textContent);
const get = (id) => document.getElementById(id);
// Okabe and Ito's colours, which colour-blind people can tell apart; grey is the rest.
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a6fc9", "#7f7f00", "#999999"];
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytes(value) {
  if (value === null || value === undefined) return "?";
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
  return `${unit ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
function count(value) {
  if (value === null || value === undefined) return "?";
  for (const [size, mark] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${mark}`;
  }
  return String(value);
}
function seconds(value) {
  if (value === null || value === undefined) return "?";
  for (const [size, mark] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${mark}`;
  }
  return `${value} s`;
}
// What bounds a figure: a part of it is unknown, or counted though it may not run.
const bound = (isLower, isUpper) => (isLower && isUpper ? "about " : isLower ? "≥ " : isUpper ? "≤ " : "");
const percent = (part) => (part === null || part === undefined ? "?" : `${(100 * part).toFixed(1)} %`);
// Charts read some HTML in labels; foreign text must stay text there.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
const line = () => getComputedStyle(document.documentElement).getPropertyValue("--line").trim();

function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
// `side` is the program of two that a name stands in; "" where there is one.
const hasPanel = (name, side) => Object.hasOwn(data.panels, side) && Object.hasOwn(data.panels[side], name);
function nameNode(name, text, side = "") {
  if (!hasPanel(name, side)) return make("span", text ?? name, { class: "mono" });
  return make("a", text ?? name, { class: "name mono", href: "#", "data-name": name, "data-side": side });
}

// Tables.
for (const part of document.querySelectorAll("details.table")) {
  const body = part.querySelector("tbody");
  const heads = [...part.querySelectorAll("th")];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const rising = head.getAttribute("aria-sort") === "descending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const isNumber = head.classList.contains("number");
    const value = (row) => {
      const cell = row.cells[column];
      return isNumber ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent;
    };
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => (isNumber ? a - b : a.localeCompare(b)) * (rising ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  }));
  const search = part.querySelector("input");
  if (search) search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
for (const link of document.querySelectorAll("a.name")) {
  if (!hasPanel(link.dataset.name, link.dataset.side)) link.replaceWith(...link.childNodes);
}

// One instruction.
function names(list, title, side) {
  const part = make("p");
  part.append(make("strong", `${title}: `));
  list.forEach((name, place) => part.append(place ? ", " : "", nameNode(name, name, side)));
  if (!list.length) part.append("none");
  return part;
}
function showPanel(name, side = "") {
  const found = data.panels[side][name];
  const body = get("panel-body");
  body.replaceChildren(make("h2", side ? `${name} (${side})` : name), make("pre", found.definition.join("\n    ")));
  body.append(make("p", `in ${found.way.join(" > ")}`));
  const from = [found.scope, found.source].filter(Boolean).join(", ");
  if (from) body.append(make("p", `from ${from}`));
  for (const frame of found.callers) body.append(make("p", `called from ${frame}`, { class: "hint" }));
  const runs = found.executions === null ? "an unknown number of times" : `${found.executions.toLocaleString("en")} times`;
  body.append(make("p", `runs ${runs} per step: ${bound(found.is_flops_lower_bound, found.is_upper_bound)}${count(found.flops)} flops and ${bound(found.is_traffic_lower_bound, found.is_upper_bound)}${bytes(found.traffic_bytes)} of memory traffic; result ${bytes(found.size_bytes)}`));
  for (const value of found.values) {
    body.append(make("p", `${value.name}: ${bytes(value.size_bytes)}, live ${value.live_from ?? "?"} to ${value.live_until ?? "?"}, at the peak ${bytes(value.peak_bytes)}`));
  }
  body.append(names(found.operands, "operands", side), names(found.users, "users", side));
  if (!get("panel").open) get("panel").showModal();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.name");
  if (!link) return;
  event.preventDefault();
  showPanel(link.dataset.name, link.dataset.side);
});
get("close").addEventListener("click", () => get("panel").close());
function openName(name, side = "") { if (hasPanel(name, side)) showPanel(name, side); }
get("panel").addEventListener("click", (event) => { if (event.target === get("panel")) get("panel").close(); });

// Names in sentences: a word that can only be one, as `fusion.3`; of two programs the new one's first.
function linkNames(part) {
  const sides = Object.keys(data.panels).reverse();
  for (const node of [...part.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE)) {
    const pieces = node.textContent.split(/([^\s,;:()]*[.\d][^\s,;:()]*)/).map((word) => {
      const name = word.replace(/\.$/, "");
      const side = /[.\d]/.test(name) ? sides.find((each) => hasPanel(name, each)) : undefined;
      return side === undefined ? [word] : [nameNode(name, name, side), word.slice(name.length)];
    });
    node.replaceWith(...pieces.flat());
  }
}
for (const sentence of document.querySelectorAll("#verdict p")) linkNames(sentence);

// Charts. On paper they are as wide as a sheet of A4 or Letter between its margins.
const ON_PAPER = { width: 700, height: 300, autosize: false };
const isPrinted = () => document.documentElement.dataset.print !== undefined;
const layout = (more) => ({
  ...(isPrinted() ? ON_PAPER : { autosize: true }),
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink(), size: 12 },
  margin: { l: 70, r: 16, t: 44, b: 46 }, hoverlabel: { align: "left" },
  legend: { orientation: "h", y: 1.01, yanchor: "bottom", x: 0 }, modebar: { bgcolor: "rgba(0,0,0,0)", color: line(), activecolor: ink() }, ...more,
});
const axis = (title, more) => ({ title: { text: title }, gridcolor: line(), zerolinecolor: line(), ...more });
// The library would offer to upload a chart; a page sends nothing to anybody.
const options = { displaylogo: false, displayModeBar: "hover", responsive: true, showSendToCloud: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "sendChartToCloud", "sendDataToCloud"] };

// Ticks at round numbers of one unit, about six of them.
function unitAxis(title, most, units) {
  const [size, mark] = units.find(([each]) => most >= each) ?? units[units.length - 1];
  const wanted = most / size / 6;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].find((each) => each * power >= wanted) * power;
  const values = [];
  for (let number = 0; number * step * size <= most * 1.02; number += 1) values.push(Number((number * step).toPrecision(6)));
  return axis(title, { tickvals: values.map((each) => each * size), ticktext: values.map((each) => `${each.toLocaleString("en")} ${mark}`), range: [0, most * 1.05] });
}
const byteAxis = (title, most) => unitAxis(title, Math.max(most, 1), UNITS.map((mark, place) => [1024 ** place, mark]).reverse());
const timeAxis = (title, most) => unitAxis(title, Math.max(most, 1e-9), [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);

// A chart of memory over time, with the instant that is frozen and who lives then.
// `most` is what the scale goes to, so that two charts can share one; `colors` go to groups by name.
function memoryChart({ memory, chart, place, grouping, side = "", most = 0, colors = null }) {
  let frozen = memory.peak;
  const highest = Math.max(...memory.used_bytes);
  // A limit far above the peak would press the chart flat; the verdict says what is left.
  const limit = memory.limit_bytes && memory.limit_bytes < 3 * Math.max(highest, most) ? memory.limit_bytes : null;
  function showInstant() {
    const held = memory.holders[frozen].slice(0, 12);
    const at = `At position ${memory.positions[frozen].toLocaleString("en")}, `;
    const heading = make("h3", at);
    heading.append(nameNode(memory.instructions[frozen], null, side), `: ${bytes(memory.used_bytes[frozen])}${frozen === memory.peak ? ", the peak" : ""}`);
    const table = make("table");
    const head = make("tr");
    for (const word of ["holds", "value", "shape", "belongs to", "source"]) head.append(make("th", word));
    table.append(head);
    for (const [index, size] of held) {
      const value = memory.values[index];
      const row = make("tr");
      row.append(make("td", bytes(size), { class: "number" }));
      const cell = make("td");
      cell.append(nameNode(value.instruction, value.name, side));
      row.append(cell, make("td", value.shape), make("td", value.origin), make("td", value.source));
      table.append(row);
    }
    const scroll = make("div", null, { class: "scroll" });
    scroll.append(table);
    get(place).replaceChildren(heading, scroll);
    const rest = memory.used_bytes[frozen] - held.reduce((sum, [, size]) => sum + size, 0);
    if (rest > 0) get(place).append(make("p", `… and more: ${bytes(rest)}`, { class: "more" }));
  }
  function marks() {
    return [{ type: "line", x0: memory.positions[frozen], x1: memory.positions[frozen], y0: 0, y1: 1, yref: "paper", line: { color: ink(), width: 1.5, dash: "dot" } }]
      .concat(limit ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { color: "#d55e00", width: 2 } }] : []);
  }
  function freeze(moment) {
    frozen = Math.max(0, Math.min(memory.positions.length - 1, moment));
    showInstant();
    Plotly.relayout(chart, { shapes: marks() });
  }
  function draw() {
    const stack = memory.stacks[get(grouping).value];
    const traces = Object.entries(stack).map(([name, levels], number) => ({
      x: memory.positions, y: levels, name: plain(short(name, 48)), stackgroup: "all", mode: "lines",
      line: { width: 0.5, color: (colors ? colors(name) : COLORS[number % COLORS.length]), shape: "hv" },
      customdata: levels.map(bytes), hovertemplate: "%{customdata} %{fullData.name}<extra></extra>",
    }));
    traces.push({
      x: memory.positions, y: memory.used_bytes, mode: "lines", name: "in use", line: { width: 1, color: ink(), shape: "hv" },
      text: memory.positions.map((position, number) => {
        const held = memory.holders[number].slice(0, 6).map(([index, size]) => `${bytes(size)} ${plain(short(memory.values[index].name, 40))}`);
        return [`<b>${bytes(memory.used_bytes[number])}</b> at ${position}, ${plain(short(memory.instructions[number], 40))}`, ...held].join("<br>");
      }),
      hovertemplate: "%{text}<extra></extra>",
    });
    Plotly.react(chart, traces, layout({ hovermode: "x unified", xaxis: axis("position in the schedule"), yaxis: byteAxis("", Math.max(highest, most, limit ?? 0)), shapes: marks() }), options);
  }
  return {
    draw,
    // Draws, and from now on answers clicks, keys and the choice of a grouping.
    start() {
      draw();
      showInstant();
      get(chart).on("plotly_click", (event) => freeze(memory.positions.indexOf(event.points[0].x)));
      get(chart).addEventListener("keydown", (event) => {
        if (event.key === "ArrowLeft") freeze(frozen - 1);
        else if (event.key === "ArrowRight") freeze(frozen + 1);
        else return;
        event.preventDefault();
      });
      get(grouping).addEventListener("change", draw);
    },
  };
}

// First what is written is painted; then the library of charts, which is large, is read.
function startCharts(start, redraw) {
  requestAnimationFrame(() => setTimeout(() => {
    const script = document.createElement("script");
    script.textContent = get("plotly").textContent;
    performance.mark("charts");
    document.head.append(script);
    start();
    document.documentElement.dataset.charts = "drawn";
  }, 0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const print = (isBegun) => {
    if (isBegun) document.documentElement.dataset.print = "";
    else delete document.documentElement.dataset.print;
    if (document.documentElement.dataset.charts) redraw();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}

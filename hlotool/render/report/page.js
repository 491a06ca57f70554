"use strict";
// Sorts and searches tables at once; draws charts when the page has been painted.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const memory = data.memory;
  const get = (id) => document.getElementById(id);
  // Okabe and Ito's colours, which colour-blind people can tell apart; grey is the rest.
  const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a6fc9", "#7f7f00", "#999999"];
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

  function bytes(value) {
    if (value === null || value === undefined) return "?";
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
    return `${unit ? value.toFixed(1) : value} ${UNITS[unit]}`;
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
  function nameNode(name, text) {
    if (!Object.hasOwn(data.panels, name)) return make("span", text ?? name, { class: "mono" });
    return make("a", text ?? name, { class: "name mono", href: "#", "data-name": name });
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
    if (!Object.hasOwn(data.panels, link.dataset.name)) link.replaceWith(...link.childNodes);
  }

  // One instruction.
  function names(list, title) {
    const part = make("p");
    part.append(make("strong", `${title}: `));
    list.forEach((name, place) => part.append(place ? ", " : "", nameNode(name)));
    if (!list.length) part.append("none");
    return part;
  }
  function showPanel(name) {
    const found = data.panels[name];
    const body = get("panel-body");
    body.replaceChildren(make("h2", name), make("pre", found.definition.join("\n    ")));
    body.append(make("p", `in ${found.way.join(" > ")}`));
    const from = [found.scope, found.source].filter(Boolean).join(", ");
    if (from) body.append(make("p", `from ${from}`));
    for (const frame of found.stack.slice(1, 7)) body.append(make("p", `called from ${frame}`, { class: "hint" }));
    const runs = found.executions === null ? "an unknown number of times" : `${found.executions.toLocaleString("en")} times`;
    body.append(make("p", `runs ${runs} in one run: ${count(found.flops)} flops and ${bytes(found.memory_bytes)} of memory traffic; result ${bytes(found.size_bytes)}`));
    for (const value of found.values) {
      body.append(make("p", `${value.name}: ${bytes(value.size_bytes)}, live ${value.born ?? "?"} to ${value.dies ?? "?"}, at the peak ${bytes(value.peak_bytes)}`));
    }
    body.append(names(found.operands, "operands"), names(found.users, "users"));
    if (!get("panel").open) get("panel").showModal();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.name");
    if (!link) return;
    event.preventDefault();
    showPanel(link.dataset.name);
  });
  get("close").addEventListener("click", () => get("panel").close());
  get("panel").addEventListener("click", (event) => { if (event.target === get("panel")) get("panel").close(); });

  // The program as it runs: a tree that folds.
  function drawSteps() {
    const lists = new Map([[null, make("ul")]]);
    data.work.steps.forEach((step, number) => {
      const item = make("li");
      const figures = [];
      if (step.share !== null) figures.push(`${percent(step.share)} of work`);
      if (step.flops) figures.push(`${count(step.flops)} flops`);
      if (step.memory_bytes) figures.push(bytes(step.memory_bytes));
      if (step.wire_bytes !== null) figures.push(`sends ${bytes(step.wire_bytes)}`);
      if (step.exposed_share !== null) figures.push(`${percent(step.exposed_share)} exposed`);
      if (step.scope) figures.push(short(step.scope));
      const text = step.step + (step.count > 1 ? ` ×${step.count}` : "");
      const said = make("span", `  ${figures.join(", ")}`, { class: "figures" });
      const label = step.first ? nameNode(step.first, text) : make("span", text);
      if (step.kind === "collective") label.classList.add("collective");
      const holds = data.work.steps.some((each) => each.parent === number);
      if (holds) {
        const fold = make("details");
        fold.open = step.depth < 1;
        const head = make("summary");
        head.append(label, said);
        const inner = make("ul");
        fold.append(head, inner);
        item.append(fold);
        lists.set(number, inner);
      } else item.append(label, said);
      lists.get(step.parent).append(item);
    });
    get("steps").append(lists.get(null));
  }

  for (const part of document.querySelectorAll('[data-needs="memory"]')) part.hidden = !memory;

  // Charts.
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink(), size: 12 },
    margin: { l: 70, r: 16, t: 44, b: 46 }, hoverlabel: { align: "left" },
    legend: { orientation: "h", y: 1.01, yanchor: "bottom", x: 0 }, modebar: { bgcolor: "rgba(0,0,0,0)", color: line(), activecolor: ink() }, ...more,
  });
  const axis = (title, more) => ({ title: { text: title }, gridcolor: line(), zerolinecolor: line(), ...more });
  const options = { displaylogo: false, displayModeBar: "hover", responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d", "sendDataToCloud"] };

  function byteAxis(title, most) {
    let unit = 0;
    while (most / 1024 ** unit >= 1024 && unit < UNITS.length - 1) unit += 1;
    const step = 1024 ** unit;
    const nice = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((each) => (each * step) * 8 >= most) ?? 1000;
    const values = [];
    for (let each = 0; each <= most * 1.02; each += nice * step) values.push(each);
    return axis(title, { tickvals: values, ticktext: values.map((each) => bytes(each)), range: [0, most * 1.05] });
  }

  let frozen = memory ? memory.peak : 0;
  function showInstant() {
    const held = memory.holders[frozen];
    const place = get("instant");
    const shown = held.reduce((sum, [, size]) => sum + size, 0);
    place.replaceChildren(make("h3", `At position ${memory.positions[frozen].toLocaleString("en")}, ${memory.instructions[frozen]}: ${bytes(memory.used_bytes[frozen])}`));
    const table = make("table");
    const head = make("tr");
    for (const word of ["holds", "value", "shape", "belongs to", "source"]) head.append(make("th", word));
    table.append(head);
    for (const [index, size] of held.slice(0, 12)) {
      const value = memory.values[index];
      const row = make("tr");
      row.append(make("td", bytes(size), { class: "number" }));
      const cell = make("td");
      cell.append(nameNode(value.instruction, value.name));
      row.append(cell, make("td", value.shape), make("td", value.belongs_to), make("td", value.source));
      table.append(row);
    }
    const scroll = make("div", null, { class: "scroll" });
    scroll.append(table);
    place.append(scroll);
    const rest = memory.used_bytes[frozen] - held.slice(0, 12).reduce((sum, [, size]) => sum + size, 0);
    if (rest > 0) place.append(make("p", `… and more: ${bytes(rest)}`, { class: "more" }));
  }
  // A limit far above the peak would press the chart flat; the verdict says what is left.
  const limit = memory && memory.limit_bytes && memory.limit_bytes < 3 * Math.max(...memory.used_bytes) ? memory.limit_bytes : null;
  function instantMark() {
    return [{ type: "line", x0: memory.positions[frozen], x1: memory.positions[frozen], y0: 0, y1: 1, yref: "paper", line: { color: ink(), width: 1.5, dash: "dot" } }]
      .concat(limit ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { color: "#d55e00", width: 2 } }] : []);
  }
  function drawMemory() {
    const stack = memory.stacks[get("grouping").value];
    const traces = Object.entries(stack).map(([name, levels], place) => ({
      x: memory.positions, y: levels, name: plain(short(name, 48)), stackgroup: "all", mode: "lines",
      line: { width: 0.5, color: COLORS[place % COLORS.length], shape: "hv" },
      customdata: levels.map(bytes), hovertemplate: "%{customdata} %{fullData.name}<extra></extra>",
    }));
    traces.push({
      x: memory.positions, y: memory.used_bytes, mode: "lines", name: "in use", line: { width: 1, color: ink(), shape: "hv" },
      text: memory.positions.map((position, place) => {
        const held = memory.holders[place].slice(0, 6).map(([index, size]) => `${bytes(size)} ${plain(short(memory.values[index].name, 40))}`);
        return [`<b>${bytes(memory.used_bytes[place])}</b> at ${position}, ${plain(short(memory.instructions[place], 40))}`, ...held].join("<br>");
      }),
      hovertemplate: "%{text}<extra></extra>",
    });
    const most = Math.max(...memory.used_bytes, limit ?? 0);
    Plotly.react("memory-chart", traces, layout({ hovermode: "x unified", xaxis: axis("position in the schedule"), yaxis: byteAxis("", most), shapes: instantMark() }), options);
  }
  function freeze(place) {
    frozen = Math.max(0, Math.min(memory.positions.length - 1, place));
    showInstant();
    Plotly.relayout("memory-chart", { shapes: instantMark() });
  }
  function drawAddresses() {
    const chosen = Number(get("allocation").value);
    const size = memory.allocations.find(([number]) => number === chosen)?.[1] ?? 0;
    const xs = COLORS.map(() => []), ys = COLORS.map(() => []);
    const centres = { x: [], y: [], text: [], name: [] };
    memory.rectangles.filter((each) => each.allocation === chosen).forEach((each, place) => {
      const to = place % (COLORS.length - 1);
      const [left, right, low, high] = [each.born, each.dies + 1, each.offset, each.offset + each.size_bytes];
      xs[to].push(left, right, right, left, left, null);
      ys[to].push(low, low, high, high, low, null);
      const value = memory.values[each.value];
      centres.x.push((left + right) / 2);
      centres.y.push((low + high) / 2);
      centres.name.push(value.instruction);
      centres.text.push(`${plain(value.name)}<br>${bytes(each.size_bytes)} at ${bytes(each.offset)}, live ${each.born} to ${each.dies}<br>${plain(short(value.belongs_to))} ${plain(value.source)}`);
    });
    const traces = xs.map((x, place) => ({ x, y: ys[place], fill: "toself", mode: "lines", hoverinfo: "skip", line: { width: 0.6, color: ink() }, fillcolor: `${COLORS[place]}b0`, showlegend: false }));
    traces.push({ x: centres.x, y: centres.y, text: centres.text, customdata: centres.name, mode: "markers", marker: { size: 14, opacity: 0 }, hovertemplate: "%{text}<extra></extra>", showlegend: false });
    Plotly.react("address-chart", traces, layout({ hovermode: "closest", xaxis: axis("position in the schedule"), yaxis: byteAxis("offset", size) }), options);
  }
  function drawTree() {
    const tree = data.trees[get("tree").value];
    Plotly.react("tree-chart", [{
      type: "treemap", ids: tree.paths, labels: tree.labels.map((each) => plain(short(each, 48))), parents: tree.parents, values: tree.sizes, branchvalues: "total",
      text: tree.sizes.map(bytes), hovertemplate: "%{label}<br>%{text}<extra></extra>", textinfo: "label+text", marker: { colorway: COLORS }, maxdepth: 4,
    }], layout({ margin: { l: 0, r: 0, t: 24, b: 0 } }), options);
  }
  function drawClock() {
    const work = data.work;
    get("clock-hint").textContent = work.is_timed
      ? `An estimate at the peaks of ${work.chip}. Of a loop the first round is drawn; where work pauses beside a transfer, nothing hides it.`
      : "Name a chip (--chip) for a clock: without one there are ratios, and no times.";
    if (!work.is_timed) { get("clock-chart").remove(); return; }
    const parents = new Set(work.steps.map((each) => each.parent));
    const lanes = { loops: [], work: [], transfers: [] };
    work.steps.forEach((step, number) => {
      if (step.kind === "collective") lanes.transfers.push(step);
      else if (step.kind === "loop" && step.depth === 0) lanes.loops.push(step);
      else if (!parents.has(number) && step.kind !== "wait") lanes.work.push(step);
    });
    const traces = Object.entries(lanes).map(([name, steps], place) => ({
      type: "bar", orientation: "h", name, y: steps.map(() => name), base: steps.map((each) => each.begins_seconds),
      x: steps.map((each) => each.ends_seconds - each.begins_seconds),
      marker: { color: COLORS[[9, 0, 5][place]], line: { width: 0.5, color: ink() } },
      text: steps.map((each) => `${plain(each.step)}<br>${seconds(each.begins_seconds)} to ${seconds(each.ends_seconds)}${each.exposed_share === null ? "" : `<br>${percent(each.exposed_share)} exposed`}<br>${plain(short(each.scope))}`),
      textposition: "none", hovertemplate: "%{text}<extra></extra>",
    }));
    Plotly.react("clock-chart", traces, layout({ barmode: "overlay", xaxis: axis("estimated seconds"), yaxis: axis(""), showlegend: false }), options);
  }
  function drawAxes() {
    const sums = new Map();
    for (const each of data.work.transfers) {
      const key = `${each.axes}\u0000${each.kind}`;
      const sum = sums.get(key) ?? [0, 0];
      sums.set(key, [sum[0] + each.wire_bytes, sum[1] + each.exposed_bytes]);
    }
    if (!sums.size) { get("axes-part").remove(); return; }
    const rows = [...sums].map(([key, sum]) => [key.replace("\u0000", ": "), ...sum]).sort((a, b) => a[1] - b[1]);
    const bar = (name, values, color) => ({ type: "bar", orientation: "h", name, y: rows.map((row) => plain(row[0])), x: values, marker: { color }, customdata: values.map(bytes), hovertemplate: `%{y}<br>%{customdata} ${name}<extra></extra>` });
    const most = Math.max(...rows.map((row) => row[1]));
    Plotly.react("axes-chart", [bar("hidden by work", rows.map((row) => row[1] - row[2]), COLORS[4]), bar("exposed", rows.map((row) => row[2]), COLORS[5])],
      layout({ barmode: "stack", xaxis: byteAxis("sent by a device in one run", most), yaxis: { automargin: true } }), options);
  }
  function drawRoof() {
    const found = data.work.fusions;
    if (!found.length) { get("roof-part").remove(); return; }
    get("roof-hint").textContent = `Right of the line (${data.work.ridge.toFixed(0)} flops for each byte) ${data.work.chip} computes all the time; left of it, it waits for memory. Large and left is where time goes.`;
    const most = Math.max(...found.map((each) => each.memory_bytes), 1);
    Plotly.react("roof-chart", [{
      x: found.map((each) => each.flops_per_byte), y: found.map((each) => each.memory_bytes), mode: "markers", customdata: found.map((each) => each.name),
      text: found.map((each) => `${plain(each.name)}<br>${bytes(each.memory_bytes)} in one run, ${count(each.flops)} flops<br>${plain(short(each.scope))}`),
      hovertemplate: "%{text}<extra></extra>", marker: { color: COLORS[0], opacity: 0.7, size: found.map((each) => 6 + 18 * Math.sqrt(each.memory_bytes / most)) },
    }], layout({
      showlegend: false, xaxis: axis("flops for each byte", { type: "log", range: [Math.log10(Math.max(1e-3, Math.min(...found.map((each) => each.flops_per_byte)))) - 0.2, Math.log10(Math.max(data.work.ridge, ...found.map((each) => each.flops_per_byte))) + 0.3] }), yaxis: axis("memory traffic in one run (bytes)", { type: "log", exponentformat: "SI" }),
      shapes: [{ type: "line", x0: data.work.ridge, x1: data.work.ridge, y0: 0, y1: 1, yref: "paper", line: { color: "#d55e00", dash: "dash" } }],
    }), options);
    get("roof-chart").on("plotly_click", (event) => openName(event.points[0].customdata));
  }
  function openName(name) { if (Object.hasOwn(data.panels, name)) showPanel(name); }

  function drawAll() {
    if (memory) {
      for (const [number, size] of memory.allocations) get("allocation").append(make("option", `${number} (${bytes(size)})`, { value: number }));
      const largest = memory.allocations.reduce((best, each) => (each[1] > (best?.[1] ?? -1) ? each : best), null);
      if (largest) get("allocation").value = largest[0];
      drawMemory();
      showInstant();
      get("memory-chart").on("plotly_click", (event) => freeze(memory.positions.indexOf(event.points[0].x)));
      get("memory-chart").addEventListener("keydown", (event) => {
        if (event.key === "ArrowLeft") freeze(frozen - 1);
        else if (event.key === "ArrowRight") freeze(frozen + 1);
        else return;
        event.preventDefault();
      });
      get("grouping").addEventListener("change", drawMemory);
      if (memory.rectangles.length) {
        drawAddresses();
        get("allocation").addEventListener("change", drawAddresses);
        get("address-chart").on("plotly_click", (event) => openName(event.points[0].customdata));
      } else get("addresses").hidden = true;
      drawTree();
      get("tree").addEventListener("change", drawTree);
    }
    drawClock();
    drawAxes();
    drawRoof();
    document.documentElement.dataset.charts = "drawn";
  }
  drawSteps();
  // First what is written is painted; then the library of charts, which is large, is read.
  requestAnimationFrame(() => setTimeout(() => {
    const script = document.createElement("script");
    script.textContent = get("plotly").textContent;
    performance.mark("charts");
    document.head.append(script);
    drawAll();
  }, 0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();

// The page of one program: its charts, and the program as it runs.
const memory = data.memory;
for (const part of document.querySelectorAll('[data-needs="memory"]')) part.hidden = !memory;

// The program as it runs: a tree that folds.
function drawSteps() {
  const lists = new Map([[null, make("ul")]]);
  data.work.steps.forEach((step, number) => {
    const item = make("li");
    const figures = [];
    if (step.share !== null) figures.push(`${step.is_repeated ? "" : "about "}${percent(step.share)} of work`);
    if (step.flops) figures.push(`${bound(step.is_flops_lower_bound, step.is_upper_bound)}${count(step.flops)} flops`);
    if (step.traffic_bytes) figures.push(`${bound(step.is_traffic_lower_bound, step.is_upper_bound)}${bytes(step.traffic_bytes)}`);
    if (step.sent_bytes !== null) figures.push(`sends ${bytes(step.sent_bytes)}`);
    if (step.exposed_share !== null) figures.push(`${percent(step.exposed_share)} exposed`);
    if (step.scope) figures.push(short(step.scope));
    const text = step.what + (step.count > 1 ? ` ×${step.count}` : "");
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

// The value whose bytes and life hold the pointer; of several that share bytes the one that begins last.
function findAddress(event) {
  const chart = get("address-chart");
  if (!chart._fullLayout) return null;
  const { xaxis, yaxis } = chart._fullLayout, box = chart.getBoundingClientRect();
  const x = event.clientX - box.left - xaxis._offset, y = event.clientY - box.top - yaxis._offset;
  if (x < 0 || y < 0 || x > xaxis._length || y > yaxis._length) return null;
  const [step, byte] = [Math.floor(xaxis.p2d(x)), yaxis.p2d(y)], chosen = Number(get("allocation").value);
  return memory.rectangles.filter((each) => each.allocation === chosen && each.live_from <= step && step <= each.live_until && each.offset <= byte && byte < each.offset + each.size_bytes)
    .reduce((best, each) => (!best || each.live_from > best.live_from ? each : best), null);
}
function tellAddress(event) {
  const each = findAddress(event), value = each && memory.values[each.value];
  get("address-tip").textContent = value ? `${value.name}: ${bytes(each.size_bytes)} at ${bytes(each.offset)}, live ${each.live_from} to ${each.live_until} ${short(value.origin)} ${value.source}` : " ";
}
function drawAddresses() {
  const chosen = Number(get("allocation").value);
  const size = memory.allocations.find(([number]) => number === chosen)?.[1] ?? 0;
  const xs = COLORS.map(() => []), ys = COLORS.map(() => []);
  memory.rectangles.filter((each) => each.allocation === chosen).forEach((each, place) => {
    const to = place % (COLORS.length - 1);
    const [left, right, low, high] = [each.live_from, each.live_until + 1, each.offset, each.offset + each.size_bytes];
    xs[to].push(left, right, right, left, left, null);
    ys[to].push(low, low, high, high, low, null);
  });
  const traces = xs.map((x, place) => ({ x, y: ys[place], fill: "toself", mode: "lines", hoverinfo: "skip", line: { width: 0.6, color: ink() }, fillcolor: `${COLORS[place]}b0`, showlegend: false }));
  Plotly.react("address-chart", traces, layout({ hovermode: false, xaxis: axis("position in the schedule"), yaxis: byteAxis("offset", size) }), options);
}
function drawTree() {
  const tree = data.trees[get("tree").value];
  Plotly.react("tree-chart", [{
    type: "treemap", ids: tree.paths, labels: tree.labels.map((each) => plain(short(each, 48))), parents: tree.parents, values: tree.sizes, branchvalues: "total",
    text: tree.sizes.map(bytes), hovertemplate: "%{label}<br>%{text}<extra></extra>", textinfo: "label+text", maxdepth: 4, marker: { depthfade: false, line: { width: 0.7, color: ink() } },
  }], layout({ treemapcolorway: COLORS, margin: { l: 0, r: 0, t: 24, b: 0 } }), options);
}
function drawClock() {
  const work = data.work;
  get("clock-hint").textContent = work.is_timed
    ? `An estimate at the peaks of ${work.chip}. Of what is in a loop the first round is drawn, though the loop goes on; where work pauses beside a transfer, nothing hides it.`
    : "No chip was named when this page was made, so there are ratios, and no times.";
  if (!work.is_timed) { get("clock-chart").remove(); return; }
  const parents = new Set(work.steps.map((each) => each.parent));
  const isSure = work.steps.every((each) => each.is_repeated);
  if (!isSure) get("clock-hint").textContent += " Nobody knows how often a loop runs: it counts as one round, so times are about right at best.";
  const lanes = { loops: [], work: [], transfers: [] };
  work.steps.forEach((step, number) => {
    if (step.kind === "collective") lanes.transfers.push(step);
    else if (step.kind === "loop" && step.depth === 0) lanes.loops.push(step);
    else if (!parents.has(number) && step.kind !== "wait") lanes.work.push(step);
  });
  const everywhere = (steps) => steps.flatMap((each) => each.spans.map(([start, end]) => ({ ...each, start, end })));
  const traces = Object.entries(lanes).map(([name, found]) => [name, everywhere(found)]).map(([name, steps], place) => ({
    type: "bar", orientation: "h", name, y: steps.map(() => name), base: steps.map((each) => each.start),
    x: steps.map((each) => each.end - each.start),
    marker: { color: COLORS[[9, 0, 5][place]], line: { width: steps.length > 80 ? 0 : 0.5, color: ink() } },
    hovertext: steps.map((each) => `${plain(each.what)}<br>${isSure ? "" : "about "}${seconds(each.start)} to ${seconds(each.end)}${each.exposed_share === null ? "" : `<br>${percent(each.exposed_share)} exposed`}<br>${plain(short(each.scope))}`),
    customdata: steps.map((each) => each.first), text: name === "loops" ? steps.map((each) => plain(each.what)) : undefined, textposition: name === "loops" ? "inside" : "none", insidetextanchor: "middle",
    hovertemplate: "%{hovertext}<extra></extra>",
  }));
  Plotly.react("clock-chart", traces, layout({ barmode: "overlay", xaxis: timeAxis("estimated time", work.steps.reduce((most, each) => Math.max(most, each.spans.at(-1)?.[1] ?? 0), 0)), yaxis: axis(""), showlegend: false }), options);
}
function drawAxes() {
  const sums = new Map();
  for (const each of data.work.transfers) {
    const key = `${each.axes}\u0000${each.kind}`;
    const sum = sums.get(key) ?? { sent: 0, exposed: 0, unknown: 0 };
    sum.sent += each.sent_bytes;
    if (each.exposed_bytes === null) sum.unknown += each.sent_bytes;
    else sum.exposed += each.exposed_bytes;
    sums.set(key, sum);
  }
  if (!sums.size) { get("axes-part").remove(); return; }
  const rows = [...sums].map(([key, sum]) => ({ name: key.replace("\u0000", ": "), ...sum })).sort((a, b) => a.sent - b.sent);
  const bar = (name, values, color) => ({ type: "bar", orientation: "h", name, y: rows.map((row) => plain(row.name)), x: values, marker: { color }, customdata: values.map(bytes), hovertemplate: `%{y}<br>%{customdata} ${name}<extra></extra>` });
  const most = Math.max(...rows.map((row) => row.sent));
  Plotly.react("axes-chart", [
    bar("hidden by work", rows.map((row) => row.sent - row.exposed - row.unknown), COLORS[4]),
    bar("exposed", rows.map((row) => row.exposed), COLORS[5]),
    ...(rows.some((row) => row.unknown) ? [bar("nobody knows", rows.map((row) => row.unknown), COLORS[9])] : []),
  ],
    layout({ barmode: "stack", xaxis: byteAxis("sent by a device per step", most), yaxis: { automargin: true } }), options);
}
function drawRoof() {
  const largest = Math.max(...data.work.operations.map((each) => each.traffic_bytes), 1);
  const found = data.work.operations.filter((each) => each.traffic_bytes * 1e6 >= largest);
  const ticks = Array.from({ length: 13 }, (_, place) => 32 ** place);
  if (!found.length) { get("roof-part").remove(); return; }
  get("roof-hint").textContent = `${data.work.is_rated ? `Right of the line (${data.work.ridge.toFixed(0)} flops for each byte) ${data.work.chip} computes all the time; left of it, it waits for memory. ` : "No chip known here stands for this backend, so there is no line. "}What moves less than a millionth of the largest is left out.`;
  Plotly.react("roof-chart", [{
    x: found.map((each) => each.arithmetic_intensity), y: found.map((each) => each.traffic_bytes), mode: "markers", customdata: found.map((each) => each.name),
    text: found.map((each) => `${plain(each.name)}<br>${bytes(each.traffic_bytes)} per step, ${count(each.flops)} flops<br>${plain(short(each.scope))}`),
    hovertemplate: "%{text}<extra></extra>", marker: { color: COLORS[0], opacity: 0.7, size: found.map((each) => 6 + 18 * Math.sqrt(each.traffic_bytes / largest)) },
  }], layout({
    showlegend: false, xaxis: axis("flops for each byte", { type: "log", range: [Math.log10(Math.max(1e-3, Math.min(...found.map((each) => each.arithmetic_intensity)))) - 0.2, Math.log10(Math.max(data.work.ridge, ...found.map((each) => each.arithmetic_intensity))) + 0.3] }), yaxis: axis("memory traffic per step", { type: "log", tickvals: ticks, ticktext: ticks.map(bytes) }),
    shapes: !data.work.is_rated ? [] : [{ type: "line", x0: data.work.ridge, x1: data.work.ridge, y0: 0, y1: 1, yref: "paper", line: { color: "#d55e00", dash: "dash" } }],
  }), options);
}
const overTime = memory && memoryChart({ memory, chart: "memory-chart", place: "instant", grouping: "grouping" });
function redraw() {
  if (memory) {
    overTime.draw();
    if (memory.rectangles.length) drawAddresses();
    drawTree();
  }
  drawClock();
  drawAxes();
  drawRoof();
}
function start() {
  if (memory) {
    for (const [number, size] of memory.allocations) get("allocation").append(make("option", `${number} (${bytes(size)})`, { value: number }));
    const largest = memory.allocations.reduce((best, each) => (each[1] > (best?.[1] ?? -1) ? each : best), null);
    if (largest) get("allocation").value = largest[0];
    overTime.start();
    get("allocation").addEventListener("change", drawAddresses);
    get("address-chart").addEventListener("mousemove", tellAddress);
    get("address-chart").addEventListener("click", (event) => {
      const found = findAddress(event);
      if (found) openName(memory.values[found.value].instruction);
    });
    get("tree").addEventListener("change", drawTree);
    get("addresses").hidden = !memory.rectangles.length;
  }
  redraw();
  const opens = (id) => get(id)?.on?.("plotly_click", (event) => openName(event.points[0].customdata));
  for (const id of ["roof-chart", "clock-chart"]) opens(id);
}
drawSteps();
startCharts(start, redraw);

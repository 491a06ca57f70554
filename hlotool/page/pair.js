// The page of two programs: memory of both over time, on one scale and in the same colours.
const sides = data.memories.map((memory, number) => ({ memory, number, side: data.labels[number] })).filter((each) => each.memory);
for (const part of document.querySelectorAll("[data-needs]")) {
  const number = part.dataset.needs.split("-")[1];
  part.hidden = number === undefined ? !sides.length : !data.memories[number];
}
const most = Math.max(...sides.map((each) => Math.max(...each.memory.used_bytes)));

// A group has one colour in both charts; those that hold most in either choose first.
function pickColor(name) {
  const sizes = new Map();
  for (const each of sides) {
    for (const [group, levels] of Object.entries(each.memory.stacks[get("grouping").value])) {
      sizes.set(group, Math.max(sizes.get(group) ?? 0, ...levels));
    }
  }
  const groups = [...sizes].sort((a, b) => b[1] - a[1]).map(([group]) => group);
  return COLORS[groups.indexOf(name) % COLORS.length];
}
const charts = sides.map(({ memory, number, side }) => memoryChart({
  memory, chart: `memory-chart-${number}`, place: `instant-${number}`, grouping: "grouping", side, most, colors: pickColor,
}));
startCharts(() => charts.forEach((each) => each.start()), () => charts.forEach((each) => each.draw()));

// Charts by uPlot, in the colours of the page.
import { h } from "./dom.js";
import { inChosenZone, zoneAt } from "./zone.js";

const probe = document.createElement("i");
probe.hidden = true;

/** The current value of a colour of style.css, as `rgba(...)`. */
function color(name, alpha = 1) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
}

const live = new Map(); // name -> what `chart` returned last

/** Days are in UTC, as the server counts them. Times are in the chosen time zone. */
const dayOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);
const clockOf = (seconds) => inChosenZone(new Date(seconds * 1000))[1];

function axes(format, bars, zone) {
  const line = { stroke: color("--faint"), width: 1 };
  const base = {
    stroke: color("--dim"),
    grid: line,
    ticks: { show: false },
    font: "11px system-ui",
  };
  const time = (seconds) => (bars ? dayOf(seconds).slice(5) : clockOf(seconds));
  return [
    {
      ...base,
      size: 24,
      space: 64,
      grid: { show: false },
      values: (_, all) => all.map(time),
      label: zone,
      labelFont: base.font,
      labelSize: 16,
      labelGap: 0,
    },
    { ...base, size: 46, values: (_, all) => all.map(format) },
  ];
}

function options({ series, format, bars, height }, width) {
  const zone = bars ? "UTC" : zoneAt(new Date());
  const drawn = series.map((each) => ({
    label: each.label,
    stroke: color(each.color),
    fill: bars ? color(each.color) : each.fill ? color(each.color, 0.13) : undefined,
    width: bars ? 0 : 1.5,
    dash: each.dash,
    points: { show: false },
    paths: bars ? uPlot.paths.bars({ size: [0.7, 28] }) : undefined,
    // Without a pointer over the chart, the latest value.
    value: (plot, value, i) => format(value ?? plot.data[i].at(-1) ?? 0),
  }));
  return {
    width,
    height,
    tzDate: bars ? (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC") : undefined,
    padding: [10, bars ? 16 : 26, 0, 0],
    cursor: { points: { size: 6 }, drag: { setScale: false } },
    legend: { live: true },
    scales: {
      x: {
        time: true,
        range: (_, low, high) =>
          bars ? [low - 43200, high + 43200] : [Math.min(low, high - 60), high],
      },
      y: { range: (_, low, high) => [0, Math.max(high * 1.1, bars ? 4 : 1)] },
    },
    axes: axes(format, bars, zone),
    series: [
      {
        label: `${bars ? "Day" : "Time"} (${zone})`,
        value: (plot, value) => {
          const at = value ?? plot.data[0].at(-1) ?? 0;
          return bars ? dayOf(at) : clockOf(at);
        },
      },
      ...drawn,
    ],
  };
}

/** A chart that stays when its page is drawn again; `summary` is its text for screen readers. */
export function chart(name, settings, data, summary) {
  const known = live.get(name);
  const place = known?.place?.isConnected
    ? known.place
    : h("div", { class: "chart", "data-live": name, role: "img", "aria-label": summary });
  place.setAttribute("aria-label", summary);
  const entry = { place, settings, data, plot: known?.place === place ? known.plot : null };
  live.set(name, entry);
  queueMicrotask(() => draw(entry));
  // A chart on the screen is represented by a placeholder, which `morphElement` leaves alone.
  return known?.place === place ? h("div", { class: "chart", "data-live": name }) : place;
}

function draw(entry) {
  const width = entry.place.clientWidth;
  if (!width || typeof uPlot === "undefined") return;
  if (entry.plot) return entry.plot.setData(entry.data);
  entry.plot = new uPlot(options(entry.settings, width), entry.data, entry.place);
}

/** After a change of width, colours or time zone. */
export function redrawAll() {
  for (const entry of live.values()) {
    entry.plot?.destroy();
    entry.plot = null;
    if (entry.place.isConnected) draw(entry);
  }
}

addEventListener("resize", () => {
  for (const { plot, place, settings } of live.values()) {
    if (plot && place.isConnected)
      plot.setSize({ width: place.clientWidth, height: settings.height });
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

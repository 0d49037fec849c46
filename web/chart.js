// Charts as SVG, in the colours of style.css. A chart updates itself, so a page that is drawn again
// leaves it alone; lines can be switched off, a pointer shows the values of a moment in all charts,
// a click links to its jobs, and dragging selects a time. The address has what was clicked, after
// its #.
import { h, show } from "./dom.js";
import { inChosenZone, zoneAt } from "./zone.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
/** The size of a drawing in its own units. CSS stretches it. */
const [WIDTH, HEIGHT] = [1000, 100];
const TICKS = 4;
/** The shortest time that a chart shows, in seconds. */
const SHORTEST_S = 60;
/** Of more time than this, the day of a point is said, too. */
const LONG_S = 25 * 3600;
const BAR_PART = 0.7;
/** A pointer that moves less is a click. */
const DRAG_MIN = 12;

/** An SVG element; `props` as for `h`, without handlers. */
export function svg(tag, props, ...children) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(props))
    if (value !== null && value !== false) node.setAttribute(name, value);
  node.append(...children.flat().filter(Boolean));
  return node;
}

const live = new Map(); // name -> the entry of a chart: see `chart`

/** The next number that is easy to read, and to halve. */
function roundUp(number) {
  if (number <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  return power * [1, 2, 4, 6, 8, 10].find((each) => each * power >= number * 0.999);
}

/** A peak of fewer than so many of the values does not set the scale, if it is so much higher. */
const [PEAK_PART, PEAK_TIMES] = [0.05, 5];

/** What goes on now is never a peak. */
const NOW_POINTS = 12;

/** The top of the scale: that of all but the peaks of the lines, if they would flatten the rest. */
function topOf(lines, highest) {
  const usual = Math.max(
    0,
    ...lines.map((values) => {
      const sorted = values.filter((each) => each !== null).sort((a, b) => a - b);
      return sorted[Math.floor(sorted.length * (1 - PEAK_PART)) - 1] ?? 0;
    }),
  );
  const now = Math.max(0, ...lines.flatMap((values) => values.slice(-NOW_POINTS)));
  const isPeak = usual > 0 && highest > PEAK_TIMES * usual && now <= 2 * usual;
  return roundUp(isPeak ? 2 * usual : highest);
}

const two = (number) => Number(number.toFixed(2));
const place = (i, n) => (i / Math.max(1, n - 1)) * WIDTH;

/** The line through the values; null makes a gap. A value between two gaps is a dot. */
export function line(xs, values, top) {
  let out = "";
  let isDown = false;
  values.forEach((value, i) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const at = `${two(xs[i])} ${two(HEIGHT - (Math.min(value, top) / top) * HEIGHT)}`;
    out += isDown ? `L${at}` : `M${at}h0`;
    isDown = true;
  });
  return out;
}

function bars(values, top) {
  const step = WIDTH / values.length;
  const wide = two(step * BAR_PART);
  return values
    .map((value, i) => {
      const high = two((value / top) * HEIGHT);
      return high && `M${two(step * (i + (1 - BAR_PART) / 2))} ${HEIGHT}v${-high}h${wide}v${high}z`;
    })
    .filter(Boolean)
    .join("");
}

/** A small line without axes, for a cell of a table. */
export function spark(values, kind) {
  const xs = values.map((_, i) => place(i, values.length));
  const top = Math.max(1, ...values) * 1.05;
  return svg(
    "svg",
    {
      class: `spark ink-${kind}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    svg("path", { class: "line", d: line(xs, values, top) }),
  );
}

const dayOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

/** The beginning and the end of the time that a chart shows, in seconds. */
function limits({ times, isDays }) {
  const end = times.at(-1) ?? 0;
  return isDays ? [times[0] ?? 0, end] : [Math.min(times[0] ?? end, end - SHORTEST_S), end];
}

function timeLabels(chart) {
  const [begin, end] = limits(chart);
  const short = end - begin < 300;
  return Array.from({ length: TICKS }, (_, i) => {
    const at = begin + ((end - begin) * i) / (TICKS - 1);
    if (chart.isDays) return dayOf(Math.round(at / 86400) * 86400).slice(5);
    const [day, time] = inChosenZone(new Date(at * 1000));
    return end - begin > LONG_S ? day.slice(5) : time.slice(0, short ? 8 : 5);
  });
}

const placeOf = (chart, at) => {
  const [begin, end] = limits(chart);
  return ((at - begin) / (end - begin || 1)) * WIDTH;
};

const zoneOf = (seconds) => zoneAt(new Date(seconds * 1000));

/** Those within the time that the chart shows. */
function marksIn(chart) {
  const [begin, end] = limits(chart);
  return (chart.marks ?? []).filter(({ at }) => at >= begin && at <= end);
}

/** A time of the day; in a chart of several days, the day as well. */
function timeIn(chart, seconds) {
  const [begin, end] = limits(chart);
  const [day, time] = inChosenZone(new Date(seconds * 1000));
  return end - begin > LONG_S ? `${day} ${time.slice(0, 5)}` : time;
}

/** "2026-11-24 UTC" for a day, else a time; with its zone. */
function moment(chart, i) {
  const at = chart.times[i];
  if (at === undefined) return "";
  return chart.isDays ? `${dayOf(at)} UTC` : `${timeIn(chart, at)} ${zoneOf(at)}`;
}

function drawing({ chart, at, pin, off, drag }, xs) {
  const shown = chart.series.filter(({ label }) => !off.has(label));
  const lines = shown.map(({ values }) => values);
  const highest = Math.max(0, ...lines.flat());
  const top = chart.isDays ? roundUp(highest) : topOf(lines, highest);
  const isCut = top < highest;
  const path = ({ values, color, dash }) =>
    svg("path", {
      class: `${chart.isDays ? "bars" : "line"} ink-${color}${dash ? " dashed" : ""}`,
      d: chart.isDays ? bars(values, top) : line(xs, values, top),
    });
  const area = ({ values, color, fill }) =>
    fill &&
    values.length > 1 &&
    !values.includes(null) &&
    svg("path", {
      class: `area ink-${color}`,
      d: `${line(xs, values, top)}V${HEIGHT}H${two(xs[0])}z`,
    });
  const rule = (part) =>
    svg("path", { class: "rule", d: `M0 ${HEIGHT * part}H${WIDTH}` });
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": chart.summary,
    },
    [0, 0.5, 1].map(rule),
    shown.map(area),
    shown.map(path),
    marksIn(chart).map(({ at: when, text }) =>
      svg(
        "path",
        { class: "mark", d: `M${two(placeOf(chart, when))} 0V${HEIGHT}` },
        svg("title", {}, `${timeIn(chart, when)} ${text}`),
      ),
    ),
    drag &&
      svg("rect", {
        class: "selected",
        x: two(Math.min(...drag)),
        width: two(Math.abs(drag[1] - drag[0])),
        height: HEIGHT,
      }),
    [at, chosen({ chart, pin })].map(
      (i, k) =>
        i !== null &&
        svg("path", { class: k ? "at pin" : "at", d: `M${two(xs[i])} 0V${HEIGHT}` }),
    ),
  );
  const labels = (kind, texts) =>
    h("div", { class: kind, "aria-hidden": "true" }, texts.map((each) => h("span", {}, each)));
  return [
    labels("ys", [top, top / 2, 0].map((each) => chart.format(each).replace(/\.0(?!\d)/, ""))),
    picture,
    isCut && h("p", { class: "peak dim" }, `The peak of ${chart.format(highest)} is cut off.`),
    labels("xs", timeLabels(chart)),
  ];
}

/** A button for each line, with its latest value or that under the pointer. */
function legend(entry) {
  const { chart, at, off, name } = entry;
  const i = at ?? chart.times.length - 1;
  const turn = (label) => () => {
    const { off: hidden } = live.get(name);
    if (!hidden.delete(label)) hidden.add(label);
    draw(live.get(name));
  };
  const axis = chart.isDays ? "Day (UTC)" : `Time (${zoneAt(new Date())})`;
  return h(
    "div",
    { class: "legend" },
    chart.series.map(({ label, color, values, dash }) =>
      h(
        "button",
        {
          type: "button",
          class: `quiet ink-${color}`,
          "aria-pressed": String(!off.has(label)),
          "data-key": label,
          "data-local": true,
          onclick: turn(label),
        },
        h("i", { class: dash ? "dashed" : "", "aria-hidden": "true" }),
        label,
        " ",
        h("b", {}, values[i] === undefined || values[i] === null ? "–" : chart.format(values[i])),
      ),
    ),
    h("span", { class: "dim" }, at === null ? axis : moment(chart, at)),
  );
}

/** The point at that time in seconds; null: the chart has none. */
function indexAt({ times, step_s: step }, at) {
  const found = at === null ? -1 : times.findIndex((each) => Math.abs(each - at) <= step / 2);
  return found < 0 ? null : found;
}

/** The point that was clicked; null: none is, or it is no longer in the chart. */
const chosen = ({ chart, pin }) => indexAt(chart, pin);

/** Calls `change` with each chart on the screen that shows times of a day, and draws it. */
function inAll(change) {
  for (const entry of live.values()) {
    if (!entry.node.isConnected || entry.chart.isDays) continue;
    change(entry);
    draw(entry);
  }
}

const PIN = /^#at=(\d+)$/;
/** The end of the interval that was clicked, in seconds; null: none was. */
export const pinInAddress = () => Number(PIN.exec(location.hash)?.[1] ?? NaN) || null;

/** The point of that time in all charts, and in the address; null: none. */
function pinAll(at) {
  const address = location.pathname + location.search;
  const hash = at === null ? "" : `#at=${Math.round(at)}`;
  history.replaceState(history.state, "", address + hash);
  inAll((entry) => {
    entry.pin = at;
  });
  document.dispatchEvent(new Event("pinned"));
}

/** Links to the jobs of a point, by line: [{text, href}]; no `href`: they are not kept. */
function linksAt({ times, series, step_s: step }, i) {
  const from = times[i - 1] ?? times[i] - step;
  return series.map(({ values, jobs, counts = values }) =>
    jobs && counts[i] > 0 ? jobs(from, times[i]) : [],
  );
}

const hasJobs = ({ series }) => series.some(({ jobs }) => jobs);

/** What was clicked, and its jobs. */
function jobsThen(entry) {
  const { chart } = entry;
  const at = chosen(entry);
  if (at === null || !hasJobs(chart)) return null;
  const begin = timeIn(chart, chart.times[at - 1] ?? chart.times[at] - chart.step_s);
  const links = new Map(linksAt(chart, at).flat().map(({ text, href }) => [href, text]));
  return h(
    "p",
    { class: "then", role: "status" },
    `${begin} to ${moment(chart, at)}: `,
    links.size === 0 && "no jobs",
    [...links].map(([href, text]) =>
      href ? h("a", { href, "data-key": text }, text) : h("span", { class: "dim" }, text),
    ),
    h(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-label": "Forget this point",
        onclick: () => pinAll(null),
      },
      "✕",
    ),
  );
}

/** The numbers of the chart: of some moments, if there are many. */
function numbers({ chart, isOpen, name }) {
  const { times, series, format } = chart;
  const cell = (all, i) => ({ values }, k) =>
    h(
      "td",
      { class: "n" },
      values[i] === null ? "–" : format(values[i]),
      all[k].map(({ text, short, href }) => [
        " ",
        href
          ? h("a", { href, "aria-label": text }, short)
          : h("span", { class: "dim", title: text }, short),
      ]),
    );
  const rows = [];
  for (let i = times.length - 1; isOpen && i >= 0; i -= 1)
    rows.push(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, moment(chart, i)),
        series.map(cell(linksAt(chart, i), i)),
      ),
    );
  const titles = ["Time", ...series.map(({ label }) => label)];
  const title = (text, i) => h("th", { scope: "col", class: i ? "n" : "" }, text);
  const onToggle = ({ target }) => {
    const entry = live.get(name);
    if (entry.isOpen === target.open) return;
    entry.isOpen = target.open;
    draw(entry);
  };
  return h(
    "details",
    { ontoggle: onToggle },
    h("summary", {}, "Numbers"),
    rows.length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the chart" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, titles.map(title))),
          h("tbody", {}, rows),
        ),
      ),
  );
}

function draw(entry) {
  const { chart } = entry;
  const { times, isDays } = chart;
  entry.xs = times.map((at, i) =>
    isDays ? ((i + 0.5) / times.length) * WIDTH : placeOf(chart, at),
  );
  show(
    entry.node,
    legend(entry),
    h("div", { class: hasJobs(chart) ? "plot choosable" : "plot" }, drawing(entry, entry.xs)),
    jobsThen(entry),
    numbers(entry),
  );
}

/** The place of the pointer in the picture, which may be beside it. */
function placeUnder({ node }, event) {
  const { left, width } = node.querySelector("svg").getBoundingClientRect();
  return ((event.clientX - left) / width) * WIDTH;
}

/** The point that is the nearest to the pointer; null: the pointer is not in the picture. */
function nearest({ node, xs }, event) {
  const x = placeUnder({ node }, event);
  if (x < -20 || x > WIDTH + 20 || !node.querySelector("svg").contains(event.target)) return null;
  let at = null;
  xs.forEach((each, i) => {
    if (at === null || Math.abs(each - x) < Math.abs(xs[at] - x)) at = i;
  });
  return at;
}

/** The jobs of the point that is clicked. */
function choose(name, event) {
  const entry = live.get(name);
  const at = hasJobs(entry.chart) ? nearest(entry, event) : null;
  if (at !== null) pinAll(entry.chart.times[at]);
}

function beginDrag(name, event) {
  const entry = live.get(name);
  const isInPicture = entry.node.querySelector("svg").contains(event.target);
  if (event.button !== 0 || !entry.chart.zoom || !isInPicture) return;
  entry.dragFrom = placeUnder(entry, event);
}

/** Selects the time between the place where the pointer went down and the one where it is. */
function goOnDragging(entry, event) {
  const to = Math.min(WIDTH, Math.max(0, placeUnder(entry, event)));
  if (!entry.drag && Math.abs(to - entry.dragFrom) < DRAG_MIN) return;
  entry.node.setPointerCapture(event.pointerId);
  entry.drag = [entry.dragFrom, to];
  draw(entry);
}

function endDrag(name, event) {
  const entry = live.get(name);
  const { chart, drag } = entry;
  entry.dragFrom = entry.drag = null;
  if (!drag) return;
  draw(entry);
  if (event.type !== "pointerup") return;
  const [begin, end] = limits(chart);
  const [from, to] = drag
    .map((x) => begin + (x / WIDTH) * (end - begin))
    .sort((a, b) => a - b);
  chart.zoom(Math.min(from, to - chart.step_s), to);
}

/** The values at the place of the pointer, in all charts, or the latest. */
function point(name, event) {
  const entry = live.get(name);
  if ((entry.dragFrom ?? null) !== null && event.type === "pointermove")
    return goOnDragging(entry, event);
  const at = event.type === "pointermove" ? nearest(entry, event) : null;
  if (at === entry.at) return;
  entry.at = at;
  draw(entry);
  const when = at === null ? null : entry.chart.times[at];
  if (!entry.chart.isDays)
    inAll((each) => {
      if (each !== entry) each.at = indexAt(each.chart, when);
    });
}

/**
 * A chart. `times` are in seconds, `step_s` apart at the beginning; `series` are {label, color,
 * values, dash, fill, jobs}: as many values as there are times, null where there is none, and a
 * function (from, to) that answers links to the jobs of that time, [{text, short, href}], where
 * `counts`, usually `values`, are not 0. `isDays`: each time is a day in UTC, and the values are
 * bars. `format` makes a value a text; `summary` is the chart in words. `marks` are {at, text}.
 * `zoom(from, to)` is called with the seconds that were selected.
 */
export function chart(name, settings) {
  const known = live.get(name);
  const isShown = Boolean(known?.node.isConnected);
  const node = isShown ? known.node : h("div", { class: "chart", "data-live": name });
  const entry = {
    name,
    node,
    chart: settings,
    at: (isShown && known.at < settings.times.length && known.at) || null,
    pin: isShown ? known.pin : pinInAddress(),
    off: known?.off ?? new Set(),
    dragFrom: isShown ? known.dragFrom : null,
    drag: isShown ? known.drag : null,
    isOpen: isShown && known.isOpen,
  };
  live.set(name, entry);
  if (!isShown) {
    node.addEventListener("pointermove", (event) => point(name, event));
    node.addEventListener("pointerleave", (event) => point(name, event));
    node.addEventListener("click", (event) => choose(name, event));
    node.addEventListener("pointerdown", (event) => beginDrag(name, event));
    node.addEventListener("pointerup", (event) => endDrag(name, event));
    node.addEventListener("pointercancel", (event) => endDrag(name, event));
  }
  draw(entry);
  // A chart on the screen is represented by a placeholder, which `morphElement` leaves alone.
  return isShown ? h("div", { class: "chart", "data-live": name }) : node;
}

/** After a change of the time zone. */
export function redrawAll() {
  for (const entry of live.values()) if (entry.node.isConnected) draw(entry);
}

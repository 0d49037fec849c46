// Numbers and times for people.
import { h } from "./dom.js";
import { serverNow } from "./api.js";
import { inChosenZone, zoneAt, zoneName } from "./zone.js";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const count = (n) => whole.format(n);

export const plural = (n, one, several = `${one}s`) => `${count(n)} ${n === 1 ? one : several}`;

/** 9,999 as it is; 12.3M for larger numbers. */
export function short(n) {
  if (n < 10000) return count(n);
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
  if (n < 1e9) return `${(n / 1e6).toFixed(n < 1e7 ? 2 : 1)}M`;
  return `${(n / 1e9).toFixed(1)}G`;
}

const SLOW_PER_S = 0.1;

/** The unit in which numbers per second are read best, all of them: that of the largest. */
export const rateUnit = (numbers) =>
  Math.max(0, ...numbers) < SLOW_PER_S && numbers.some((each) => each > 0) ? "min" : "s";

/** "4.2/s", or in another unit "0.3/min". */
export function rate(perSecond, unit = rateUnit([perSecond])) {
  const n = unit === "min" ? perSecond * 60 : perSecond;
  if (n === 0) return `0/${unit}`;
  if (n < 0.05) return `< 0.1/${unit}`;
  return n < 100 ? `${n.toFixed(1)}/${unit}` : `${short(Math.round(n))}/${unit}`;
}

const UNITS = [
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1024 ** 2],
  ["GiB", 1024 ** 3],
  ["TiB", 1024 ** 4],
];

export function bytes(n) {
  const [unit, size] = [...UNITS].reverse().find(([, each]) => n >= each) ?? UNITS[0];
  return `${size === 1 ? n : (n / size).toFixed(n / size < 10 ? 1 : 0)} ${unit}`;
}

const YEAR_S = 365.25 * 86400;

/** 1.7 below ten, whole numbers from there on. */
const few = (n) => (n < 9.95 ? Number(n.toFixed(1)) : Math.round(n));

/** 0.05 ms, 3.1 ms, 145 ms, 4.2 s, 3.5 min, 5 h, 12 d, 3 years; units from minutes on by `to`. */
export function span(seconds, to = few) {
  if (seconds > 0 && seconds < 0.000995) return `${(seconds * 1000).toFixed(2)} ms`;
  if (seconds > 0 && seconds < 0.00995) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${to(seconds / 60)} min`;
  if (seconds < 172800) return `${to(seconds / 3600)} h`;
  if (seconds < 2 * YEAR_S) return `${to(seconds / 86400)} d`;
  return `${to(seconds / YEAR_S)} years`;
}

export const none = () => h("span", { class: "none" }, "–");

/** A time relative to now, or its date when it is far away; on hover in full. */
export function ago(iso) {
  if (!iso) return none();
  const seconds = (serverNow() - Date.parse(iso)) / 1000;
  // Below ten seconds the clock would make every row flicker.
  const near = Math.abs(seconds) < 1 ? "now" : null;
  const far = Math.abs(seconds) > YEAR_S ? absolute(iso).split(" ")[0] : null;
  const words = near ?? far ?? (seconds > 0 ? `${coarse(seconds)} ago` : `in ${coarse(-seconds)}`);
  return h("time", { datetime: iso, title: absolute(iso) }, words);
}

const coarse = (seconds) =>
  span(seconds < 10 ? Math.ceil(seconds) : seconds, Math.round).replace(/\.0 s/, " s");

/** The time since then. */
export function age(iso) {
  if (!iso) return none();
  const seconds = Math.max(0, (serverNow() - Date.parse(iso)) / 1000);
  return h("time", { datetime: iso, title: `since ${absolute(iso)}` }, coarse(seconds));
}

/** "Tue 2026-11-24 02:30 UTC+1" */
function dated(iso, day, time, zone) {
  const weekday = new Date(`${day}T00:00Z`).toLocaleDateString("en-GB", {
    weekday: "short",
    timeZone: "UTC",
  });
  const clock = time.slice(0, 8).replace(/:00$/, "");
  return h("time", { datetime: iso, title: absolute(iso) }, `${weekday} ${day} ${clock} ${zone}`);
}

/** As the text has it, which names its offset: "2026-11-24T02:30:00+01:00". */
export function inZone(iso) {
  const [, day, time, sign, hours, minutes] = /^(.*)T([\d:]*).*([+-])(\d\d):(\d\d)$/.exec(iso);
  return dated(iso, day, time, zoneName((sign === "-" ? -1 : 1) * (hours * 60 + Number(minutes))));
}

/** The same in the chosen time zone. */
export function inChosen(iso) {
  const date = new Date(iso);
  return dated(iso, ...inChosenZone(date), zoneAt(date));
}

/** "2026-11-24 00:04:49 UTC+1 · 2026-11-23T23:04:49Z" */
export function absolute(iso) {
  const date = new Date(iso);
  return `${inChosenZone(date).join(" ")} ${zoneAt(date)} · ${iso}`;
}

/** Milliseconds since 1970, in the chosen time zone. */
export function shownTime(ms) {
  const time = new Date(Number(ms));
  return Number.isNaN(time.getTime()) ? ms : absolute(time.toISOString()).split(" · ")[0];
}

/** "14:02 UTC+1", with the day when it is not within a day. */
export function clock(iso) {
  const date = new Date(iso);
  const [day, time] = inChosenZone(date);
  const isNear = Math.abs(serverNow() - date.getTime()) < 43200e3;
  const words = `${isNear ? "" : `${day} `}${time.slice(0, 5)} ${zoneAt(date)}`;
  return h("time", { datetime: iso, title: absolute(iso) }, words);
}

/** A problem as the server words it, as a sentence. */
export const sentence = (text) =>
  `${text[0].toUpperCase()}${text.slice(1)}${/[.?!…]$/.test(text) ? "" : "."}`;

// The time zone in which the pages show times: the browser's, or UTC.

const KEPT = "millrace.zone";
let isUtc = false;
try {
  isUtc = localStorage.getItem(KEPT) === "utc";
} catch {
  // A browser that stores nothing begins with its own zone.
}

export const zoneChoice = () => (isUtc ? "UTC" : "Local");

export function turnZone() {
  isUtc = !isUtc;
  try {
    localStorage.setItem(KEPT, isUtc ? "utc" : "local");
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

const two = (n) => String(n).padStart(2, "0");
const offset = (date) => (isUtc ? 0 : -date.getTimezoneOffset());

/** "UTC", "UTC+1" or "UTC−3:30": a zone that is so many minutes ahead of UTC. */
export function zoneName(minutes) {
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${two(rest)}` : ""}`;
}

/** The chosen zone at that time. */
export const zoneAt = (date) => zoneName(offset(date));

/** Milliseconds since 1970 of "2026-11-24T00:04:49" in the chosen zone. */
export const fromChosenZone = (text) => Date.parse(isUtc ? `${text}Z` : text);

/** The parts of a time in the chosen zone: ["2026-11-24", "00:04:49"]. */
export function inChosenZone(date) {
  const [day, time] = new Date(date.getTime() + offset(date) * 60000).toISOString().split("T");
  return [day, time.slice(0, 8)];
}

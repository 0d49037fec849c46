// The limits of a queue in words.
import { count } from "../format.js";

const PER = { 1: "second", 60: "minute", 3600: "hour", 86400: "day" };

/** "4 concurrent, 2 per worker, 100 per minute" */
export function limitsText({ concurrency, worker, rate_count: rate, rate_s: seconds }) {
  const said = [
    concurrency && `${count(concurrency)} concurrent`,
    worker && `${count(worker)} per worker`,
    rate && `${count(rate)} per ${PER[seconds] ?? `${count(seconds)} s`}`,
  ].filter(Boolean);
  return said.join(", ") || "no limit";
}

// The limits of a queue or a type in words.
import { count } from "../format.js";

const PER = { 1: "second", 60: "minute", 3600: "hour", 86400: "day" };

/** "4 concurrent, 2 per worker, 1 per key, 100 per minute" */
export function limitsText(limits) {
  const { concurrency, worker, per_key: key, rate_count: rate, rate_s: seconds } = limits;
  const said = [
    concurrency && `${count(concurrency)} concurrent`,
    worker && `${count(worker)} per worker`,
    key && `${count(key)} per key`,
    rate && `${count(rate)} per ${PER[seconds] ?? `${count(seconds)} s`}`,
  ].filter(Boolean);
  return said.join(", ") || "no limit";
}

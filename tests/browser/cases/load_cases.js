// What a browser loads for a page, and what it loads again.
import assert from "node:assert/strict";
import { fill } from "../helpers.js";

/** Those that ask the most. */
const PAGES = ["", "queues/mail", "types", "workers", "batches", "cron"];
const REQUESTS_MAX = 20;
const BYTES_MAX = 120 * 1024;

/** The address of each answer that came over the network, and its bytes. */
async function loaded(context, address) {
  const page = await context.newPage();
  await page.goto(address, { waitUntil: "networkidle" });
  await page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
  const all = await page.evaluate(() =>
    performance.getEntries().map(({ name, transferSize }) => [name, transferSize ?? 0]),
  );
  await page.close();
  return all.filter(([, bytes]) => bytes > 0);
}

export const cases = [
  {
    title: "a page needs few requests and bytes, and the next one no script or style again",
    async run(test) {
      await fill(test);
      for (const target of PAGES) {
        const context = await test.context.browser().newContext();
        const first = await loaded(context, test.server.base + target);
        const again = await loaded(context, test.server.base + target);
        await context.close();
        const bytes = first.reduce((all, [, each]) => all + each, 0);
        const files = (all) => all.filter(([name]) => /\.(js|css)\b/.test(name));
        assert.ok(files(first).length > 0, `${target}: none at first`);
        assert.ok(first.length <= REQUESTS_MAX, `${target}: ${first.length} requests`);
        assert.ok(bytes <= BYTES_MAX, `${target}: ${bytes} bytes`);
        assert.deepEqual(files(again), [], target);
      }
    },
  },
];

// Names as Java and Ruby programs have them: long, and without a space.
import assert from "node:assert/strict";
import { faktory } from "../helpers.js";

const TYPE = "com.acme.billing.jobs.InvoiceReconciliationJob";
const QUEUE = "java-invoices-us-east-1-production-high-priority";
const ERROR = "org.springframework.web.client.HttpServerErrorException$ServiceUnavailable";
const WIDTHS = [390, 700, 768, 1056, 1280];

async function pushFailed(test) {
  const client = await faktory(test, "worker-1");
  const custom = { [`invoice_${"reconciliation_".repeat(5)}key`]: "value" };
  await client.push("java-0001", TYPE, QUEUE, [{ region: "us-east" }], { custom });
  await client.fail(QUEUE, ERROR, "503 Service Unavailable");
}

/** What does not fit: the page, a table in it, a button. */
const tooWide = (page) =>
  page.evaluate(() => {
    const isOut = (node) => node.getBoundingClientRect().right > innerWidth;
    const isCut = (node) => node.scrollWidth > node.clientWidth;
    const all = (what) => [...document.querySelectorAll(what)];
    return [
      ...[document.documentElement, ...all("main .scroll, main section")].filter(isCut),
      ...all("main button, main dt, main dd").filter(isOut),
    ].map((node) => node.outerHTML.slice(0, 100));
  });

/** At all widths, of the page that `target` names. */
async function fits(test, target) {
  const { page } = test;
  await test.open(target);
  await page.getByText(target === "jobs/1" ? TYPE : ERROR).first().waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    assert.deepEqual(await tooWide(page), [], `${target} at ${width}`);
  }
}

export const cases = [
  {
    title: "long names: errors, and what is done about them, stay in view",
    async run(test) {
      await pushFailed(test);
      await fits(test, "errors");
    },
  },
  {
    title: "long names: of a job in a list nothing is cut off but its names",
    async run(test) {
      await pushFailed(test);
      await fits(test, "jobs?state=retrying");
      await fits(test, "jobs?state=any");
      const { page } = test;
      for (const width of [700, 768, 896]) {
        await page.setViewportSize({ width, height: 900 });
        const { height } = await page.locator("tbody tr").boundingBox();
        assert.ok(height < 160, `a job is ${height} px high at ${width}`);
      }
    },
  },
  {
    title: "long names: a job's page is as wide as the screen",
    async run(test) {
      await pushFailed(test);
      await fits(test, "jobs/1");
      const { page } = test;
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const outside = await page.locator(".facts dd").evaluateAll((cells) =>
          cells.flatMap((cell) => {
            const { right } = cell.getBoundingClientRect();
            return [...cell.querySelectorAll("*")]
              .filter((each) => each.getBoundingClientRect().right > right + 1)
              .map((each) => each.textContent);
          }),
        );
        assert.deepEqual(outside, [], `at ${width}`);
      }
    },
  },
];

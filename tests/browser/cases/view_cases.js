// What is on the screen and where: scroll, focus, narrow screens, and much of something.
import assert from "node:assert/strict";
import { beanstalk, counts, faktory, fill, gone, row, turnFields, until } from "../helpers.js";

const isInView = (locator) =>
  locator.evaluate((node) => {
    const { top, left, bottom, right } = node.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  });

export const cases = [
  {
    title: "every page is in the navigation, and in view, however wide the window is",
    async run({ page, open }) {
      await open("server");
      await page.getByRole("heading", { name: "Journal" }).waitFor();
      for (const width of [320, 390, 600, 800, 900, 1024, 1180, 1280]) {
        await page.setViewportSize({ width, height: 700 });
        const links = page.locator("#top nav a");
        for (let i = 0; i < (await links.count()); i += 1)
          assert.ok(await isInView(links.nth(i)), `link ${i}, ${width} px`);
      }
    },
  },
  {
    title: "back from a job, the list is where it was",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 45; i += 1) await client.push(`scroll-${100 + i}`, "Scroll", "mail");
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "Scroll").last().scrollIntoViewIfNeeded();
      const before = await page.evaluate(() => scrollY);
      assert.ok(before > 300);
      await row(page, "Scroll").last().getByRole("link", { name: /Scroll/ }).click();
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      assert.equal(await page.evaluate(() => scrollY), 0);
      await page.goBack();
      await row(page, "Scroll").last().waitFor();
      await until(async () => (await page.evaluate(() => scrollY)) === before, "back in its place");
    },
  },
  {
    title: "after an action the keyboard stays in the table",
    async run(test) {
      const client = await faktory(test);
      for (const i of [1, 2, 3]) await client.push(`focus-00${i}`, "Focus", "mail");
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "Focus").first().getByRole("checkbox").check();
      await page.getByRole("button", { name: "Delete 1" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("1 job deleted.").waitFor();
      await until(
        () => page.evaluate(() => document.activeElement.classList.contains("scroll")),
        "the table has the focus",
      );
    },
  },
  {
    title: "where a button has done all that it can the keyboard continues in the table",
    async run(test) {
      await faktory(test, "worker-1");
      const { page } = test;
      await test.open("workers");
      await page.getByRole("button", { name: "Quiet worker" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Quiet 1 worker" }).click();
      await page.locator("button:disabled", { hasText: "Quiet" }).waitFor();
      await until(
        () => page.evaluate(() => document.activeElement.classList.contains("scroll")),
        "the table has the focus",
      );
    },
  },
  {
    title: "a page of workers after the last says so",
    async run(test) {
      await faktory(test, "worker-1");
      await test.open("workers?after=worker-2");
      await test.page.getByText("No more workers.").waitFor();
    },
  },
  {
    title: "failures after many jobs that never failed are counted",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("first-001", "Fails", "broken", [], { retry: -1 });
      await client.fail("broken", "Timeout", "after 3 s");
      const tube = beanstalk(test);
      for (let i = 0; i < 21; i += 1)
        tube.socket.write("use bulk\r\n" + "put 0 0 60 1\r\nx\r\n".repeat(1000));
      await until(async () => (await counts(test)).ready === 21000, "all are there");
      await fetch(`${test.server.base}api/v1/operations`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"action": "kill", "states": ["ready"]}',
      });
      await until(async () => (await counts(test)).dead === 21001, "all are dead");
      const { page } = test;
      await test.open("errors");
      await row(page, "Timeout").waitFor();
      await page.getByText("1 group", { exact: true }).waitFor();
    },
  },
  {
    title: "of large bodies the beginning is shown",
    async run(test) {
      const client = await faktory(test);
      await client.push("large-001", "Large", "mail", ["x".repeat(500000)]);
      const tube = beanstalk(test);
      const id = await tube.put("large", Buffer.alloc(65000, 0x80));
      const { page } = test;
      await test.open("jobs?id=large-001");
      await page.getByRole("link", { name: /Large/ }).click();
      await page.locator("pre", { hasText: "xxxxxxxx" }).waitFor();
      await page.getByText("Only its beginning is shown.").waitFor();
      await test.open(`jobs/${id}`);
      await page.getByText("000000  80 80 80 80").waitFor();
    },
  },
  {
    title: "what is years away is said by its day",
    async run(test) {
      const client = await faktory(test);
      await client.push("years-001", "Years", "mail", [], { at: "2099-06-15T12:00:00Z" });
      const { page } = test;
      await test.open("jobs?state=scheduled");
      await row(page, "Years").getByText("2099-06-15", { exact: true }).waitFor();
      await page.getByRole("link", { name: /Years/ }).click();
      await page.getByText("2099-06-15", { exact: true }).waitFor();
    },
  },
  {
    title: "a search never has looked at more jobs than there are",
    async run(test) {
      const { page } = test;
      let slices = 0;
      let goOn = () => {};
      await page.route("**/api/v1/jobs?*", async (route) => {
        slices += 1;
        if (slices === 11)
          await new Promise((resolve) => {
            goOn = resolve;
          });
        const next = slices < 12 ? "0.1.1" : null;
        const json = { jobs: [], counts: {}, looked_at: 1000, to_look_at: 4000, next };
        await route.fulfill({ json });
      });
      await test.open("jobs?state=dead&type=None");
      await page.getByText("Searched 10,000 of 10,000 jobs, 0 found…").waitFor();
      goOn();
      await page.getByText("No dead job matches.").waitFor();
    },
  },
  {
    title: "a change of all says which they are",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=dead&queue=broken&error=no%20key");
      await page.getByRole("button", { name: "Delete all that match" }).click();
      await page
        .getByRole("dialog", { name: "all dead jobs with queue “broken”, error “no key”" })
        .waitFor();
    },
  },
  {
    title: "the click that leaves a filter changes nothing by the list before",
    async run(test) {
      const client = await faktory(test);
      for (const queue of ["left", "other"]) await client.push(`${queue}-0001`, "Left", queue);
      const { page } = test;
      const dialog = page.getByRole("dialog");
      let goOn;
      const isLong = new Promise((resolve) => {
        goOn = resolve;
      });
      await page.route("**/api/v1/jobs?*queue=left*", async (route) => {
        await isLong;
        await route.continue();
      });
      await test.open("jobs?state=ready");
      await turnFields(page);
      await page.getByLabel("Queue").fill("left");
      await page.getByRole("button", { name: "Move all 2" }).click();
      await until(async () => page.url().endsWith("&queue=left"), "the filter in the address");
      assert.equal(await dialog.count(), 0);
      goOn();
      await page.getByRole("button", { name: "Delete all that match" }).click();
      await dialog.getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("Done: 1 job deleted.").waitFor();
      assert.equal((await counts(test)).ready, 1);
    },
  },
  {
    title: "a dialog ends with the address that it was opened in",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=dead");
      await page.getByRole("link", { name: "Ready" }).click();
      await page.getByRole("button", { name: "Move all 3" }).click();
      await page.getByRole("dialog").getByRole("button", { name: /^Move/ }).waitFor();
      await page.goBack();
      await gone(page.getByRole("dialog"));
      await row(page, "Dies").waitFor();
      assert.equal((await counts(test)).ready, 3);
    },
  },
  {
    title: "on a phone the first job is in view, and the fields of the filters are opened",
    async run(test) {
      await fill(test);
      const { page } = test;
      await page.setViewportSize({ width: 390, height: 844 });
      await test.open("jobs?state=dead");
      const { y, height } = await row(page, "Dies").boundingBox();
      assert.ok(y + height < 844, `it ends at ${y + height}`);
      assert.equal(await page.getByLabel("Queue", { exact: true }).isVisible(), false);
      await turnFields(page);
      await page.getByLabel("Queue", { exact: true }).fill("other");
      await page.keyboard.press("Enter");
      await page.getByText("No dead job matches.").waitFor();
      assert.equal(await page.getByLabel("Queue", { exact: true }).isVisible(), true);
    },
  },
  {
    title: "the overview has Attention first, and tiles with lines and with the workers",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("");
      await until(async () => (await page.locator(".tile .spark").count()) === 8, "all lines");
      await page.locator(".tile", { hasText: "Workers" }).getByText("100 % busy, 1 job").waitFor();
      const top = async (what) => (await page.locator(what).first().boundingBox()).y;
      assert.ok((await top(".attention")) < (await top(".tiles")));
    },
  },
  {
    title: "an error comes before the arguments, and Delete stands apart from Retry",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=dead&queue=broken");
      assert.match(await row(page, "Dies").innerText(), /KeyError\s+no key[^]*\["y"\]/);
      const right = async (name) => {
        const { x, width } = await page.getByRole("button", { name }).boundingBox();
        return [x, x + width];
      };
      const [[begin], [, end]] = [await right(/^Delete/), await right(/^Move/)];
      assert.ok(begin - end > 16, `${begin - end} px apart`);
    },
  },
  {
    title: "the first column of a wide table takes no more than a third",
    async run(test) {
      await fill(test);
      const { page } = test;
      await page.setViewportSize({ width: 1440, height: 900 });
      for (const target of ["queues", "types", "batches", "cron"]) {
        await test.open(target);
        await page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
        const parts = await page.locator(".scroll tr > :first-child").evaluateAll((all) =>
          all.map((each) => each.getBoundingClientRect().width / innerWidth),
        );
        for (const part of parts) assert.ok(part < 0.34, `${target}: ${part}`);
      }
    },
  },
  {
    title: "on a phone the bar of what is selected stays in view",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 45; i += 1) await client.push(`phone-${100 + i}`, "Phone", "mail");
      const { page } = test;
      await page.setViewportSize({ width: 390, height: 700 });
      await test.open("jobs?state=ready");
      await row(page, "Phone").last().getByRole("checkbox").check();
      assert.ok(await isInView(page.getByRole("button", { name: "Delete 1" })));
      await page.getByRole("button", { name: "Clear selection" }).click();
      await gone(page.getByRole("button", { name: "Delete 1" }));
    },
  },
  {
    title: "on a tablet the actions of a row are in view",
    async run(test) {
      await fill(test);
      const { page } = test;
      for (const width of [768, 1050]) {
        await page.setViewportSize({ width, height: 1000 });
        await test.open("queues");
        await page.getByLabel("More actions for thumbs").click();
        assert.ok(await isInView(page.getByRole("button", { name: "Delete thumbs" })), width);
        await test.open("errors");
        await row(page, "Timeout").waitFor();
        const remove = row(page, "Timeout").getByRole("button", { name: /Delete all/ });
        assert.ok(await isInView(remove), width);
      }
    },
  },
];

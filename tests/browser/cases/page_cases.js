// What the pages must do. Each case has a server and a browser of its own.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import {
  LATE,
  beanstalk,
  counts,
  faktory,
  fill,
  find,
  gone,
  row,
  turnFields,
  until,
} from "../helpers.js";

const PAGES = [
  "",
  "queues",
  "queues/mail",
  "jobs?state=ready",
  "jobs?state=scheduled",
  "jobs?state=retrying",
  "jobs?state=dead",
  "jobs?state=reserved",
  "jobs?state=any&id=mail",
  "errors",
  "types",
  "activity",
  "workers",
  "server",
  "jobs/1",
  "jobs/4",
  "jobs/999",
  "jobs?type=None",
  "nowhere",
];

/** No page has anything that axe-core objects to, nor is wider than the screen. */
function accessible(title, options, rules) {
  return {
    title: `axe-core finds nothing, ${title}`,
    async run(test) {
      const { tube } = await fill(test);
      const deep = await tube.put("reports", '{"a":{"b":{"c":[{"d":[1,{"e":2}]}]}}}');
      tube.socket.write("put 0 0 60 1\r\nx\r\n".repeat(1100));
      await until(async () => (await counts(test)).ready > 1100, "so many that a comma is shown");
      const context = await test.context
        .browser()
        .newContext({ ...options, bypassCSP: true, reducedMotion: "reduce" });
      const page = await context.newPage();
      const found = [];
      for (const target of [...PAGES, `jobs/${deep}`]) {
        await page.goto(test.server.base + target);
        await page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
        for (const each of await violations(page, rules)) found.push(`${target}: ${each}`);
        const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        if (isWide) found.push(`${target}: scrolls sideways`);
      }
      await context.close();
      assert.deepEqual(found, []);
    },
  };
}

export const cases = [
  accessible("light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }),
  // What dark differs in is its colours.
  accessible("dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }, [
    "color-contrast",
    "link-in-text-block",
  ]),
  accessible("390 px wide", { colorScheme: "light", viewport: { width: 390, height: 844 } }),
  accessible("320 px wide", { colorScheme: "light", viewport: { width: 320, height: 640 } }, [
    "target-size",
  ]),
  {
    title: "the overview shows how the server is, and stays up to date",
    async run(test) {
      // Not the words of a server that is well: the disk under the tests may be nearly full.
      const { health } = await test.server.api("overview");
      await test.open("");
      await test.page.getByRole("heading", { name: health.text }).waitFor();
      await fill(test);
      await test.page.locator(".tile.dead .value", { hasText: "1" }).waitFor();
      await test.page.locator(".chart svg .line").first().waitFor();
      await test.page.locator(".tile.dead a").click();
      await row(test.page, "Dies").waitFor();
    },
  },
  {
    title: "a failed job is found, read and retried",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=retrying");
      await row(page, "Fails").getByRole("link", { name: /Fails/ }).click();
      await page.getByText("after 3 s").first().waitFor();
      await page.getByLabel("Backtrace", { exact: true }).getByText("app.js:1").waitFor();
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator("h1 .badge.ready").waitFor();
      assert.equal((await counts(test)).retrying, 0);
    },
  },
  {
    title: "a job that is scheduled is added to its queue, another is killed",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=scheduled");
      await page.getByRole("checkbox", { name: "Select job 2" }).check();
      await page.getByRole("button", { name: "Add to queue 1" }).click();
      await page.getByRole("button", { name: "Add to queue 1 job" }).click();
      await gone(page.getByRole("checkbox", { name: "Select job 2" }));
      await test.open("jobs?state=ready&queue=mail");
      await row(page, "SendMail").getByRole("checkbox").check();
      await page.getByRole("button", { name: "Kill 1" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Kill 1 job" }).click();
      await gone(row(page, "SendMail"));
      assert.equal((await counts(test)).dead, 2);
    },
  },
  {
    title: "all that a filter matches is deleted, with its number said first, and nothing else",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 120; i += 1)
        await client.push(`many-${1000 + i}`, i % 3 === 0 ? "Keep" : "Drop", "mail");
      const { page } = test;
      await test.open("jobs?state=ready");
      await turnFields(page);
      await page.getByLabel("Type").fill("Drop");
      await page.getByLabel("Type").press("Enter");
      await page.getByRole("button", { name: "Delete all that match" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 80 jobs" }).click();
      await page.getByText("Done: 80 jobs deleted.").waitFor();
      await page.getByText("No ready job matches.").waitFor();
      assert.equal((await counts(test)).ready, 40);
    },
  },
  {
    title: "what kills asks first, and says when the dead become too many",
    flags: ["--dead-max-jobs=2"],
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 4; i += 1) await client.push(`kills-00${i}`, "Kills", "mail");
      const { page } = test;
      const dialog = page.getByRole("dialog");
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Kill" }).click();
      await dialog.getByText("1 job will become dead").waitFor();
      assert.doesNotMatch(await dialog.textContent(), /only 2/);
      await dialog.getByRole("button", { name: "Kill 1 job" }).click();
      await page.locator("h1 .badge.dead").waitFor();
      await test.open("jobs?state=ready");
      await page.getByRole("button", { name: "Move all 3" }).waitFor();
      assert.equal(await page.getByRole("button", { name: /^(Kill|Delete)/ }).count(), 0);
      await test.open("jobs?state=ready&type=Kills");
      await page.getByRole("button", { name: "Kill all that match" }).click();
      await dialog.getByText("3 jobs will become dead").waitFor();
      await dialog
        .getByText("At most 2 pushed jobs can be dead: beyond that, the oldest are deleted.")
        .waitFor();
      await dialog.getByRole("button", { name: "Kill 3 jobs" }).click();
      await page.getByText("Done: 3 jobs killed.").waitFor();
      assert.equal((await counts(test)).ready, 0);
    },
  },
  {
    title: "a selection outlives an action that failed",
    async run(test) {
      await fill(test);
      const { page } = test;
      await page.route("**/api/v1/jobs/change", (route) =>
        route.fulfill({ status: 507, json: { error: "The disk is full." } }),
      );
      await test.open("jobs?state=dead");
      await row(page, "Dies").getByRole("checkbox").check();
      await page.getByRole("button", { name: "Retry 1" }).click();
      await page.getByRole("dialog").getByText("1 job will be enqueued.").waitFor();
      await page.getByRole("button", { name: "Retry 1 job" }).click();
      await page.getByText("The disk is full.").waitFor();
      await page.getByText("1 job selected:").waitFor();
    },
  },
  {
    title: "a long change shows how far it is and can be cancelled",
    notInFirefox: "the change has ended when WebDriver clicks",
    async run(test) {
      const client = await faktory(test);
      const jobs = Array.from({ length: 20000 }, (_, i) => ({
        jid: `bulk-${10000 + i}`,
        jobtype: "Bulk",
        queue: "bulk",
        args: [],
      }));
      for (let i = 0; i < 4; i += 1)
        await client.command("PUSHB", jobs.slice(5000 * i, 5000 * (i + 1)));
      const { page } = test;
      await test.open("jobs?state=ready&type=Bulk");
      await page.getByRole("button", { name: "Delete all that match" }).click();
      await page.getByLabel("Type 20,000 to confirm").fill("20,000");
      await page.getByRole("dialog").getByRole("button", { name: "Delete 20,000 jobs" }).click();
      const cancel = page.locator(".operation").getByRole("button", { name: "Cancel" });
      const ended = page.locator(".operation", { hasText: /Cancelled|Done/ });
      // It may end before the click, and then the button is another one.
      await Promise.race([cancel.click().catch(() => {}), ended.waitFor()]);
      await ended.waitFor();
      const [operation] = (await test.server.api("operations")).operations;
      assert.equal((await counts(test)).ready, 20000 - operation.changed);
    },
  },
  {
    title: "the notice of a change fits on the screen, and covers nothing of itself",
    async run(test) {
      const { page } = test;
      const operation = {
        id: 1,
        title: "delete ready jobs",
        phase: "running",
        changed: 1234567,
        looked_at: 12345678,
        to_look_at: 100000000,
      };
      await page.route("**/api/v1/operations", (route) =>
        route.fulfill({ json: { operations: [operation] } }),
      );
      await page.route("**/api/v1/operations/1", (route) => route.fulfill({ json: operation }));
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await test.open("jobs");
        await page.locator(".operation button").waitFor();
        const [text, stop] = await page.locator(".operation").evaluate((box) => {
          const inside = document.createRange();
          inside.selectNodeContents(box.querySelector("span"));
          return [inside, box.querySelector("button")].map((each) => {
            const { left, right, top, bottom } = each.getBoundingClientRect();
            return { left, right, top, bottom };
          });
        });
        assert.ok(text.right <= stop.left || text.bottom <= stop.top, `overlaps at ${width} px`);
        assert.ok(Math.max(text.right, stop.right) <= width, `runs off at ${width} px`);
      }
    },
  },
  {
    title: "a dialog that is left changes nothing",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("queues");
      await page.getByLabel("More actions for mail").click();
      await page.getByRole("button", { name: "Delete mail" }).click();
      await page.keyboard.press("Escape");
      await gone(page.getByRole("dialog"));
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Delete");
      assert.equal((await counts(test)).ready, 3);
    },
  },
  {
    title: "failures are grouped, and a group is retried as a whole",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (let i = 0; i < 5; i += 1) {
        await client.push(`group-00${i}`, "Fails", "broken", [], i > 2 ? { retry: -1 } : {});
        await client.fail("broken", "Timeout", `after ${i} s`);
      }
      const { page } = test;
      await test.open("errors");
      await row(page, "after # s")
        .getByRole("button", { name: /Retry all/ })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry 5 jobs" }).click();
      await page.getByText("Done: 5 jobs retried.").waitFor();
      assert.equal((await counts(test)).ready, 5);
    },
  },
  {
    title: "failures that were retried, and wait again or are at work, are not forgotten",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (const i of [1, 2]) {
        await client.push(`again-00${i}`, "Fails", "broken");
        await client.fail("broken", "Timeout", `after ${i} s`);
      }
      const { page } = test;
      await test.open("errors");
      await row(page, "after # s")
        .getByRole("button", { name: /Retry all/ })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry 2 jobs" }).click();
      await page.getByText("Done: 2 jobs retried.").waitFor();
      await client.fetch("broken");
      const group = row(page, "after # s");
      await group.getByText("1 ready").waitFor();
      await group.getByText("1 reserved").waitFor();
      assert.ok(await group.getByRole("button", { name: /Retry all/ }).isDisabled());
      await group.getByRole("link", { name: /1 ready job / }).click();
      await row(page, "Fails").waitFor();
    },
  },
  {
    title: "a job is taken from its holder, who then finds none",
    async run(test) {
      const { client } = await fill(test);
      await client.push("held-0002", "Held", "held");
      const { page } = test;
      await test.open("jobs?state=reserved&queue=held");
      await page.getByRole("link", { name: /^Held/ }).click();
      await page.getByText("by worker box:7").waitFor();
      await page.getByRole("button", { name: "Release" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("will be ignored").waitFor();
      await dialog.getByRole("button", { name: "Release 1 job" }).click();
      await page.locator(".badge.ready").waitFor();
      assert.match(await client.command("FAIL", { jid: "held-0001" }), /not found/);
      assert.equal(await client.command("ACK", { jid: "held-0001" }), "+OK");
      assert.equal((await counts(test)).ready, 5);
      const tube = beanstalk(test);
      await tube.command("watch held");
      const [, id] = (await tube.command("reserve-with-timeout 0")).split(" ");
      await tube.line();
      await test.open("jobs?state=reserved&queue=held");
      await page.getByLabel("Select all jobs of this page").check();
      await page.getByRole("button", { name: "Delete 1", exact: true }).click();
      await dialog.getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("1 job deleted.").waitFor();
      assert.equal(await tube.command(`delete ${id}`), "NOT_FOUND");
    },
  },
  {
    title: "a pushed job is shown as tree, text and hex",
    async run(test) {
      const client = await faktory(test);
      await client.command(
        "PUSH",
        '{"jid":"whole-001","jobtype":"Whole","args":[1e400,18446744073709551617]}',
      );
      const { page } = test;
      await test.open("");
      await find(page, "whole-001");
      await page.getByRole("link", { name: /Whole/ }).click();
      await page.locator(".json.number", { hasText: "18446744073709551617" }).waitFor();
      await page.locator(".json.number", { hasText: "1e400" }).waitFor();
      await page.getByRole("button", { name: "Hex" }).click();
      await page.getByText('7b 22 72 65 74 72 79 22').waitFor();
    },
  },
  {
    title: "a worker is told to be quiet",
    async run(test) {
      const { client } = await fill(test);
      const { page } = test;
      await test.open("workers");
      await row(page, "worker-1").getByText("box").waitFor();
      await page.getByRole("button", { name: "Quiet worker worker-1" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Quiet 1 worker" }).click();
      await row(page, "worker-1").locator(".badge", { hasText: "quiet" }).waitFor();
      assert.equal(await client.command("BEAT", { wid: "worker-1" }), '{"state":"quiet"}');
    },
  },
  {
    title: "a deep link opens the same filters, and back goes back",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=retrying&error=timeout&queue=broken");
      await row(page, "Fails").waitFor();
      const error = page.getByLabel("Error");
      await until(async () => (await error.inputValue()) === "timeout", "the field has the filter");
      await page.getByRole("link", { name: "Queues", exact: true }).click();
      await page.getByRole("heading", { name: /Queues/ }).waitFor();
      await page.goBack();
      await row(page, "Fails").waitFor();
      await test.open("morgue");
      await row(page, "Dies").waitFor();
      await page.evaluate(() => history.replaceState(null, "", "queues/%E0%A4%A"));
      await page.reload();
      await page.getByText("There is no such page.").waitFor();
    },
  },
  {
    title: "a filter that makes no sense shows no jobs, and offers to change none",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=dead&older_than_s=soon");
      await page.getByText("must be a duration like 90s, 30m, 2h or 7d").waitFor();
      assert.equal(await page.getByRole("button", { name: /all/ }).count(), 0);
      await turnFields(page);
      await page.getByLabel("Older than").fill("");
      await page.getByLabel("Older than").press("Enter");
      await row(page, "Dies").waitFor();
    },
  },
  {
    title: "the server page shows each I/O thread",
    flags: ["--io-threads=2"],
    async run(test) {
      await test.open("server");
      for (const thread of ["io_1", "io_2"]) {
        await test.page.getByText(thread, { exact: true }).waitFor();
      }
    },
  },
  {
    title: "an address that asks for what there is not says so, shows nothing and offers nothing",
    async run(test) {
      await fill(test);
      const { page } = test;
      for (const [target, problem] of [
        ["jobs?state=boiled", "state is not scheduled, ready,"],
        ["jobs?state=any&cursor=nonsense", "cursor is not one"],
        ["jobs?client=abc", "client is not a number"],
        ["jobs?queu=mail", "no such parameter: queu"],
        ["?days=soon", "days is not a number"],
        ["queues?sort=age", "queues cannot be sorted by that"],
        ["queues?order=down", "order is not asc or desc"],
        ["queues/mail?cursor=x", "cursor is not one"],
        ["queues/mail?state=dead", "no such parameter: state"],
        ["jobs/1?state=dead", "no such parameter: state"],
        ["errors?state=dead", "no such parameter: state"],
        ["workers?state=quiet", "no such parameter: state"],
        ["server?queue=mail", "no such parameter: queue"],
      ]) {
        await test.open(target);
        await page.getByRole("alert").getByText(`this address: ${problem}`).waitFor();
        assert.equal(await page.locator("main :is(button, table)").count(), 0, target);
      }
      await page.getByRole("link", { name: "Remove the filters" }).click();
      await page.getByText("Effective options").waitFor();
    },
  },
  {
    title: "an address that the server refuses is said to be so, once",
    async run(test) {
      await fill(test);
      const { page } = test;
      let asked = 0;
      page.on("request", (request) => {
        if (request.url().includes("/api/v1/jobs?")) asked += 1;
      });
      await test.open("jobs?state=dead&cursor=nonsense");
      await page.getByRole("alert").getByText("The server rejected this address").waitFor();
      await page.getByRole("button", { name: "Not updating" }).waitFor();
      await page.waitForTimeout(2600);
      assert.equal(asked, 1);
      await page.getByRole("link", { name: "Remove the filters" }).click();
      await row(page, "SendMail").waitFor();
    },
  },
  {
    title: "the keyboard alone finds a job, goes through rows, selects and retries",
    notInFirefox: "a button gets no Enter of WebDriver while another page has the focus",
    async run(test) {
      await fill(test);
      const { page } = test;
      const { keyboard } = page;
      await test.open("");
      await page.locator(".tiles").waitFor();
      await keyboard.press("/");
      await keyboard.type("mail-0001");
      await keyboard.press("Enter");
      await row(page, "SendMail").waitFor();
      await keyboard.press("g");
      await keyboard.press("j");
      await page.getByRole("heading", { name: "Jobs" }).waitFor();
      await test.open("jobs?state=dead");
      await row(page, "Dies").waitFor();
      await keyboard.press("j");
      await keyboard.press("x");
      await page.getByText("1 job selected:").waitFor();
      await keyboard.press("Enter");
      await page.locator("h1 .badge.dead").waitFor();
      await page.getByRole("button", { name: "Retry" }).press("Enter");
      await page.locator("h1 .badge.ready").waitFor();
      await keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    },
  },
  {
    title: "selection and scroll outlive an update",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 45; i += 1) await client.push(`scroll-${100 + i}`, "Scroll", "mail");
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "Scroll").last().getByRole("checkbox").check();
      const before = await page.evaluate(() => scrollY);
      assert.ok(before > 0);
      await client.push("scroll-999", "Newcomer", "mail");
      await row(page, "Newcomer").waitFor();
      assert.equal(await page.evaluate(() => scrollY), before);
      await page.getByText("1 job selected:").waitFor();
    },
  },
  {
    title: "a selection is of the list that it was made in, and outlives its pages",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 60; i += 1) await client.push(`pages-${100 + i}`, "Pages", "mail");
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "Pages").first().getByRole("checkbox").check();
      await page.getByRole("link", { name: "Next page" }).click();
      await page.getByRole("link", { name: "First page" }).waitFor();
      await page.getByText("1 job selected:").waitFor();
      await page.getByRole("link", { name: "Scheduled" }).click();
      await page.getByText("No scheduled jobs.").waitFor();
      await page.goBack();
      await page.getByText("1 job selected:").waitFor();
      await turnFields(page);
      await page.getByLabel("Queue").fill("mail");
      await page.getByLabel("Queue").press("Enter");
      await page.getByText("Select jobs, or change").waitFor();
      assert.equal(await page.locator("tbody input:checked").count(), 0);
    },
  },
  {
    title: "jobs in any state are shown page by page, each once",
    async run(test) {
      await fill(test);
      const client = await faktory(test);
      for (let i = 0; i < 95; i += 1)
        await client.push(`any-0${100 + i}`, "Any", "any", [], i < 50 ? {} : { at: LATE });
      const all = Object.values(await counts(test)).reduce((sum, n) => sum + n, 0);
      assert.ok(all > 100);
      const { page } = test;
      const seen = [];
      await test.open("jobs?state=any");
      for (let number = 1; ; number += 1) {
        await row(page, "").first().waitFor();
        seen.push(...(await page.locator("tbody .id").allTextContents()));
        const next = page.getByRole("link", { name: "Next page" });
        if ((await next.count()) === 0) break;
        assert.equal(seen.length, 50 * number);
        await next.click();
        await gone(page.locator("tbody .id", { hasText: new RegExp(`^${seen.at(-1)}$`) }));
      }
      assert.equal(seen.length, all);
      assert.equal(new Set(seen).size, all);
    },
  },
  {
    title: "the page survives a restart of the server, and so do the jobs",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("queues");
      await row(page, "mail").waitFor();
      await server.kill();
      await page.getByRole("alert").getByText("cannot be reached").waitFor();
      await page.getByRole("button", { name: "Offline" }).waitFor();
      await server.start();
      await gone(page.getByRole("alert"));
      await page.getByRole("button", { name: "Live" }).waitFor();
      await row(page, "mail").waitFor();
    },
  },
  {
    title: "hostile data does nothing but be seen",
    async run(test) {
      const client = await faktory(test, 'w"><img src=x onerror=document.title="owned">');
      const evil =
        '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
      await client.push("evil-0001", evil, "mail", [evil, { [evil]: evil }], {
        custom: { [evil]: evil },
      });
      await client.fail("mail", evil.slice(0, 90), evil);
      await beanstalk(test).put("$(evil);+-/", evil);
      const { page } = test;
      for (const target of [
        "",
        "queues",
        "jobs",
        "jobs?state=retrying",
        "jobs/1",
        "jobs/2",
        "errors",
        "workers",
        `queues/${encodeURIComponent("$(evil);+-/")}`,
      ]) {
        await test.open(target);
        await page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
        assert.equal(await page.locator("main img, main script").count(), 0);
        assert.doesNotMatch(await page.title(), /^(▲ )?owned/);
      }
      await test.open("jobs/1");
      await page.getByText(evil).first().waitFor();
      await client.push("turn-0001", "turn\u202egpj.exe", "mail", ["\u2066a\u2069"]);
      await test.open("jobs?id=turn-0001");
      await row(page, "turn\\u202egpj.exe").getByText("\\u2066a\\u2069").waitFor();
      await page.locator("tbody a.row").click();
      // Its job has failed, which is trouble.
      const isShown = async () => /^(▲ )?turn\\u202egpj.exe 3 /.test(await page.title());
      await until(isShown, "it in the title");
    },
  },
  {
    title: "the page of a job that is deleted says so",
    async run(test) {
      const client = await faktory(test);
      await client.push("gone-0001", "Gone", "mail");
      const { page } = test;
      await test.open("jobs/1");
      await page.locator("h1 .badge.ready").waitFor();
      await fetch(`${test.server.base}api/v1/jobs/1/delete`, { method: "POST" });
      await page.getByText(/^Deleted .*\.$/).waitFor();
    },
  },
  {
    title: "a body is shown as tree, text and hex",
    async run(test) {
      await fill(test);
      const { page } = test;
      const all = (await test.server.api("jobs?state=ready&queue=thumbs")).jobs;
      await test.open(`jobs/${all[0].id}`);
      await page.getByText('"/img/1.jpg"').waitFor();
      await page.getByRole("button", { name: "Text" }).click();
      await page.getByText('{"path": "/img/1.jpg"}').waitFor();
      await test.open(`jobs/${all[1].id}`);
      await page.getByText("000000  ff 00 01 02").waitFor();
    },
  },
  {
    title: "numbers are shown as they are written",
    async run(test) {
      const written = ["12345678901234567890", "1.0", "1e400", "-0", "0.1"];
      const body = `{"b\\"1": [${written}, "1.0", "n\\"5", true], "10": null, "2": 1.50}`;
      const id = await beanstalk(test).put("numbers", body);
      const { page } = test;
      const shown = (kind) => page.locator(`.json.${kind}`).allTextContents();
      await test.open(`jobs/${id}`);
      await page.locator(".json.null").waitFor();
      assert.deepEqual(await shown("number"), [...written, "1.50"]);
      assert.deepEqual(await shown("string"), ['"1.0"', '"n\\"5"']);
      assert.deepEqual((await shown("key")).filter((name) => name.length > 1), ['b"1', "10"]);
      const client = await faktory(test);
      const large = '{"jid":"exact-001","jobtype":"Exact","args":[9007199254740993]}';
      await client.command("PUSH", large);
      await test.open("jobs?id=exact-001");
      await page.getByRole("link", { name: /Exact/ }).click();
      await page.locator(".json.number", { hasText: "9007199254740993" }).waitFor();
      await page.getByRole("button", { name: "Text" }).click();
      await page.locator("pre", { hasText: '"args": [\n    9007199254740993\n  ]' }).waitFor();
    },
  },
  {
    title: "a body of thousands of lists in each other is shown, and is still updated",
    async run(test) {
      const tube = beanstalk(test);
      const body = "[".repeat(2000) + "]".repeat(2000);
      const id = await tube.put("deep", body);
      const { page } = test;
      await test.open(`jobs/${id}`);
      await page.getByText("[ 1 item ]").first().waitFor();
      assert.equal(await page.getByText("… see Text").count(), 1);
      await page.getByRole("button", { name: "Text" }).click();
      await page.getByText(body).waitFor();
      await tube.command(`delete ${id}`);
      await page.getByText(/^Deleted .*\.$/).waitFor();
    },
  },
  {
    title: "what cannot be drawn is said, and the page is still updated",
    async run(test) {
      const { page } = test;
      let isOdd = true;
      await page.route("**/api/v1/server", async (route) => {
        if (isOdd) await route.fulfill({ json: {} });
        else await route.continue();
      });
      await test.open("server");
      await page.getByText("This page cannot be shown").waitFor();
      isOdd = false;
      await row(page, "dead-max-jobs").waitFor();
    },
  },
  {
    title: "a job is pushed, and what is wrong with another is said",
    async run(test) {
      const { page } = test;
      await test.open("jobs");
      await page.getByRole("button", { name: "Push a job…" }).click();
      const box = page.getByRole("textbox", { name: /Job as JSON/ });
      await box.fill('{"args": []}');
      await page.getByRole("button", { name: "Push the job" }).click();
      await page.getByText("jobs must have a jobtype parameter").waitFor();
      await box.fill('{"jobtype": "ByHand", "args": [12345678901234567890]}');
      await page.getByRole("button", { name: "Push the job" }).click();
      await row(page, "12345678901234567890").waitFor();
    },
  },
  {
    title: "read-only shows everything and offers nothing",
    flags: ["--web-read-only"],
    async run(test) {
      await fill(test);
      const { page } = test;
      for (const target of [
        "queues",
        "jobs?state=dead",
        "errors",
        "workers",
        "queues/mail",
        "jobs/1",
      ]) {
        await test.open(target);
        await page.getByText("read-only").waitFor();
        assert.equal(
          await page
            .locator("main button", { hasText: /Pause|Delete|Retry|Kill|Clear|Quiet|Stop|Push/ })
            .count(),
          0,
        );
      }
      const refused = await fetch(`${test.server.base}api/v1/jobs/1/delete`, { method: "POST" });
      assert.equal(refused.status, 403);
    },
  },
  {
    title: "an open page offers no changes when the server is read-only after a restart",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("queues");
      await page.getByRole("button", { name: "Pause mail" }).waitFor();
      await server.kill();
      server.flags = ["--web-read-only"];
      await server.start();
      await page.locator("#top").getByText("read-only").waitFor();
      await gone(page.getByRole("button", { name: "Pause mail" }));
      await row(page, "mail").waitFor();
      await server.kill();
      server.flags = [];
      await server.start();
      await page.getByRole("button", { name: "Pause mail" }).waitFor();
    },
  },
  {
    title: "a page that does not update itself learns by a refusal that the server is read-only",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("queues");
      await page.getByRole("button", { name: "Live" }).click();
      await server.kill();
      server.flags = ["--web-read-only"];
      await server.start();
      await page.getByRole("button", { name: "Pause mail" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
      await page.getByText("this web port is read-only").waitFor();
      await gone(page.getByRole("button", { name: "Pause mail" }));
      await page.locator("#top").getByText("read-only", { exact: true }).waitFor();
    },
  },
  {
    title: "a proxy's prefix leads every link and file",
    async run(test) {
      await fill(test);
      const { page } = test;
      await page.route("**/jobs-ui/**", async (route) => {
        const target = route.request().url().replace("/jobs-ui", "");
        try {
          const headers = { ...route.request().headers(), "x-script-name": "/jobs-ui" };
          await route.fulfill({ response: await route.fetch({ url: target, headers }) });
        } catch (error) {
          if (!page.isClosed()) throw error; // The case may be over.
        }
      });
      await test.open("jobs-ui/queues");
      await row(page, "mail").getByRole("link", { name: "mail", exact: true }).click();
      await until(
        async () => page.url().endsWith("/jobs-ui/queues/mail"),
        "the prefix in the address",
      );
      await row(page, "SendMail").waitFor();
    },
  },
  {
    title: "a hidden page asks for nothing but, once a minute, how the server is",
    async run(test) {
      const { page } = test;
      await test.open("queues");
      await row(page, "default").waitFor();
      let asked = 0;
      // Firefox may load the page's icon late.
      page.on("request", (request) => {
        if (request.url().includes("/api/")) asked += 1;
      });
      await page.evaluate(() => {
        Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      });
      // An update that had begun may ask for more.
      await page.waitForTimeout(1000);
      asked = 0;
      await page.waitForTimeout(2600);
      assert.equal(asked, 0);
      await page.evaluate(() => {
        Object.defineProperty(document, "hidden", { value: false, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      });
      await until(async () => asked > 0, "an update when it is seen again");
    },
  },
  {
    title: "a page that is seen again shows what others have begun meanwhile",
    async run(test) {
      const { page } = test;
      await test.open("queues");
      await row(page, "default").waitFor();
      const progress = { id: 9, title: "clear mail", phase: "running", changed: 3 };
      const json = { ...progress, looked_at: 3, to_look_at: 8 };
      await page.route("**/api/v1/operations", (route) =>
        route.fulfill({ json: { operations: [json] } }),
      );
      await page.route("**/api/v1/operations/9", (route) => route.fulfill({ json }));
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await page.getByText("3 jobs deleted, 3 of 8 checked").waitFor();
    },
  },
];

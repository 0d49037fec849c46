// The line in which jobs are searched.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { faktory, fill, gone, row, turnFields, until } from "../helpers.js";

const line = (page) => page.getByLabel("Query", { exact: true });

async function search(page, text) {
  await line(page).fill(text);
  await line(page).press("Enter");
}

/** Fields follow the list, whose rows may look like those of the list before. */
const untilValue = (field, text) =>
  until(async () => (await field.inputValue()) === text, `a field has ${text}`);

export const cases = [
  {
    title: "a query has all filters in one line, and the fields that replace it show them",
    async run(test) {
      const { client } = await fill(test);
      await client.push("space-001", "Fails", "broken");
      await client.fail("broken", "Timeout", 'said "no more" twice');
      const { page } = test;
      await test.open("jobs");
      await search(page, 'state:retrying queue:broken error:"\\"no more\\"" type:Fa*');
      await row(page, 'said "no more" twice').waitFor();
      assert.equal(await page.locator("tbody tr").count(), 1);
      await untilValue(page.getByLabel("Error"), '"no more"');
      await untilValue(page.getByLabel("Type"), "Fa*");
      await turnFields(page);
      assert.equal(await line(page).isVisible(), false);
      await page.getByLabel("Error").fill("after 3");
      await page.getByLabel("Error").press("Enter");
      await row(page, "after 3 s").waitFor();
      await untilValue(line(page), 'state:retrying queue:broken type:Fa* error:"after 3"');
      await page.reload();
      await page.getByLabel("Error").waitFor();
      await turnFields(page);
      await search(page, "state:dead age>0s");
      await page.getByText("must be a duration").waitFor();
    },
  },
  {
    title: "what is wrong with a query is said, and the list stays",
    async run(test) {
      await fill(test);
      const { page, context, server } = test;
      await test.open("jobs?state=dead");
      await row(page, "Dies").waitFor();
      for (const [text, problem] of [
        ["colour:red", "There is no filter “colour”."],
        ["-type:Dies", "Filters cannot be negated: remove “-type:Dies”"],
        ["age:1h", "Write age> instead of age:"],
        ["type:", "type: has no value"],
      ]) {
        await search(page, text);
        await page.getByRole("alert").getByText(problem).waitFor();
        assert.equal(await line(page).inputValue(), text);
        await row(page, "Dies").waitFor();
      }
      await search(page, "type=Dies");
      await gone(page.getByRole("alert"));
      await row(page, "Dies").waitFor();
      const axe = await context.browser().newContext({ bypassCSP: true, reducedMotion: "reduce" });
      const other = await axe.newPage();
      await other.goto(`${server.base}jobs?state=dead`);
      await search(other, "colour:red");
      await other.getByRole("alert").waitFor();
      assert.deepEqual(await violations(other), []);
      await axe.close();
    },
  },
  {
    title: "a query is completed with names, queues, types and errors",
    async run(test) {
      await fill(test);
      const { page } = test;
      const offered = async (text) => {
        await line(page).fill(text);
        await until(
          async () => (await page.locator("#query-lines option").count()) > 0,
          `something for ${text}`,
        );
        return page.locator("#query-lines option").evaluateAll((all) => all.map((o) => o.value));
      };
      await test.open("jobs?state=retrying");
      await row(page, "Fails").waitFor();
      assert.deepEqual(await offered("ty"), ["type:"]);
      const type = "state:retrying type:Fails";
      await until(async () => (await offered("state:retrying type:F")).includes(type), "a type");
      await until(async () => (await offered("queue:br")).includes("queue:broken"), "a queue");
      await until(async () => (await offered("error:T")).includes("error:Timeout"), "an error");
    },
  },
  {
    title: "the field at the top finds queues, types, errors and words",
    async run(test) {
      const { client } = await fill(test);
      await client.push("crm-00001", "CrmSync", "crm", ["jane@example.com"]);
      await client.push("done-0001", "Finished", "once");
      await client.command("ACK", { jid: (await client.fetch("once")).jid });
      const { page } = test;
      await test.open("");
      for (const [text, address] of [
        ["broken", /queues\/broken$/],
        ["Finished", /types\/Finished$/],
        ["KeyError", /errors\?match=KeyError$/],
        ["jane@example.com", /jobs\?state=any&text=jane%40example.com$/],
        ["CrmSync", /jobs\?state=any&type=CrmSync$/],
        ["finish", /types\/Finished$/],
        ["BROK", /queues\/broken$/],
        ["key", /errors\?match=key$/],
        ["CrmS", /jobs\?state=any&type=CrmS\*$/],
        ["Billing::Charge", /jobs\?state=any&id=Billing%3A%3ACharge$/],
        ["nothing", /jobs\?state=any&id=nothing$/],
      ]) {
        await page.getByLabel("Find a job").fill(text);
        await page.keyboard.press("Enter");
        await page.waitForURL(address);
      }
      await page.getByRole("link", { name: "Search for “nothing” in bodies" }).click();
      await page.waitForURL(/text=nothing$/);
    },
  },
  {
    title: "the field at the top takes a query for jobs in any state",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("");
      await page.getByLabel("Find a job").fill("error:timeout");
      await page.keyboard.press("Enter");
      await row(page, "Fails").waitFor();
      assert.match(page.url(), /jobs\?state=any&error=timeout$/);
    },
  },
  {
    title: "filters are in the history, so that Back undoes them",
    async run(test) {
      const client = await faktory(test);
      for (const queue of ["one", "two"]) await client.push(`${queue}-0001`, "Undo", queue);
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "two").waitFor();
      await turnFields(page);
      await page.getByLabel("Queue").fill("one");
      await page.getByLabel("Queue").press("Enter");
      await gone(row(page, "two"));
      await page.goBack();
      await row(page, "two").waitFor();
      await untilValue(page.getByLabel("Queue"), "");
    },
  },
  {
    title: "a value in the arguments is found by its path, and is a field and a part of the line",
    async run(test) {
      const client = await faktory(test);
      await client.push("user-0042", "Sync", "crm", [{ user: { id: 42, name: "a b" } }]);
      await client.push("user-0043", "Sync", "crm", [{ user: { id: 43 } }]);
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "43").waitFor();
      await search(page, "args.user.id:42");
      await gone(row(page, "43"));
      await row(page, "42").waitFor();
      assert.match(page.url(), /arg=user.id%3A42$/);
      await untilValue(page.getByLabel("Argument"), "user.id:42");
      await search(page, 'args.user.name:"a b" type:Sync');
      await untilValue(line(page), 'state:ready type:Sync args.user.name:"a b"');
      await row(page, "a b").waitFor();
    },
  },
  {
    title: "several values in the arguments must all be there, and names and values may be quoted",
    async run(test) {
      const client = await faktory(test);
      const names = { "a.b": "x y", note: "" };
      await client.push("several-1", "Both", "crm", [{ user: { id: 42 } }, names]);
      await client.push("several-2", "One", "crm", [{ user: { id: 42 }, note: "no" }]);
      const { page } = test;
      await test.open("jobs?state=ready");
      await row(page, "One").waitFor();
      const text = 'args.user.id:42 args."a.b":"x y" args.note:""';
      await search(page, `${text} state:ready`);
      await gone(row(page, "One"));
      await row(page, "Both").waitFor();
      await untilValue(line(page), `state:ready ${text}`);
      await untilValue(page.getByLabel("Argument"), 'user.id:42 "a.b":"x y" note:""');
      await search(page, "state:ready args.user.id:42 args.note:n*");
      await row(page, "One").waitFor();
      await gone(row(page, "Both"));
      await search(page, "state:ready args.note:");
      await page.getByRole("alert").getByText("Write args.note: and a value").waitFor();
      await search(page, Array.from({ length: 9 }, (_, i) => `args.a${i}:1`).join(" "));
      await page.getByText("arg has more than 8 values").waitFor();
    },
  },
];

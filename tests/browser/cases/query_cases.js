// The line in which jobs are searched.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { faktory, fill, find, gone, row, turnFields, until } from "../helpers.js";

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
        ["-colour:red", "There is no filter “colour”."],
        ["attempts:3", "Write attempts> instead of attempts:"],
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
      await search(other, "-colour:red");
      await other.getByRole("alert").waitFor();
      assert.deepEqual(await violations(other), []);
      await axe.close();
    },
  },
  {
    title: "a query negates, compares and has alternatives, and is changed all at once",
    async run(test) {
      const { client } = await fill(test);
      await client.push("more-0001", "More", "broken", [], { retry: -1 });
      await client.fail("broken", "Timeout", "after 5 s");
      const { page } = test;
      await test.open("jobs?state=dead");
      await row(page, "Dies").waitFor();
      await search(page, "state:dead -error:timeout attempts>0");
      await gone(row(page, "More"));
      await row(page, "Dies").waitFor();
      assert.match(page.url(), /state=dead&q=-error%3Atimeout\+attempts%3E0$/);
      await page.reload();
      await untilValue(line(page), "state:dead -error:timeout attempts>0");
      await search(page, "state:dead type:More OR error:KeyError failed<1h");
      await row(page, "More").waitFor();
      await row(page, "Dies").waitFor();
      await search(page, "state:dead attempts>99 OR failed>1h");
      await page.getByText("No dead job matches.").waitFor();
      await search(page, "state:dead -type:Dies");
      await gone(row(page, "Dies"));
      await page.getByRole("button", { name: "Delete all that match" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 1 job" }).click();
      await page.getByText("1 job was deleted.").waitFor();
      assert.equal((await test.server.api("jobs?state=dead")).jobs[0].type, "Dies");
      await search(page, `state:dead ${"-type:A ".repeat(33)}`);
      await page.getByText("a query has at most 32 filters").waitFor();
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
        ["KeyError", /errors\/[\da-f]{16}$/],
        ["jane@example.com", /jobs\?state=any&text=jane%40example.com$/],
        ["CrmSync", /jobs\?state=any&type=CrmSync$/],
        ["finish", /types\/Finished$/],
        ["BROK", /queues\/broken$/],
        ["key", /errors\/[\da-f]{16}$/],
        ["CrmS", /jobs\?state=any&type=CrmS\*$/],
        ["KeyError: no key", /errors\/[\da-f]{16}$/],
        ["Billing::Charge", /jobs\?state=any&q=text%3ABilling%3A%3ACharge/],
        ["nothing-1", /jobs\?state=any&id=nothing-1$/],
      ]) {
        await find(page, text);
        await page.waitForURL(address);
      }
      await page.getByRole("link", { name: "Search for “nothing-1” in bodies" }).click();
      await page.waitForURL(/text=nothing-1$/);
    },
  },
  {
    title: "a word alone is found in arguments, errors and jids, and an unknown name is a word",
    async run(test) {
      const { client } = await fill(test);
      await client.push("word-0001", "Words", "words", ["no timeout: pasted"]);
      const { page } = test;
      await test.open("jobs?state=any");
      await search(page, "state:any timeout");
      await gone(row(page, "Dies"));
      await row(page, "Words").waitFor();
      await row(page, "Fails").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 2);
      await untilValue(line(page), "state:any text:timeout OR error:timeout OR job:timeout");
      await search(page, "state:any timeout: pasted");
      await gone(row(page, "Fails"));
      await row(page, "Words").waitFor();
      await untilValue(line(page), 'state:any "timeout:" pasted');
    },
  },
  {
    title: "a search is saved as a view, which others open, change and delete",
    async run(test) {
      await fill(test);
      const { page, server } = test;
      const dialog = page.getByRole("dialog");
      await test.open("jobs?state=dead&queue=broken");
      await page.getByRole("button", { name: "Save view…" }).click();
      await dialog.getByLabel("Name").fill("dead mail");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("View saved.").waitFor();
      await page.waitForURL(/jobs\?state=dead&queue=broken&view=dead\+mail$/);
      assert.deepEqual((await server.api("views")).views, [
        { name: "dead mail", query: "state:dead queue:broken" },
      ]);
      await test.open("queues");
      await find(page, "dead mail");
      await page.waitForURL(/jobs\?state=dead&queue=broken&view=dead\+mail$/);
      await page.getByRole("link", { name: "View: dead mail" }).waitFor();
      await search(page, "state:dead type:Dies");
      await page.getByRole("button", { name: "Save changes" }).waitFor();
      await server.post("views/dead%20mail/set", { query: "state:retrying" });
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByText("Somebody has changed the view").waitFor();
      await test.open("views/dead%20mail");
      await row(page, "Fails").waitFor();
      await page.getByRole("link", { name: "Views", exact: true }).click();
      await page.getByRole("button", { name: "Delete the view dead mail" }).click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await page.getByText("No views yet.").waitFor();
    },
  },
  {
    title: "a view whose query is not valid any more says so, and can be deleted",
    async run(test) {
      const { page, server } = test;
      await server.post("views/old/set", { query: "state:dead -colour:red" });
      await server.post("views/older/set", { query: "batch:none" });
      for (const [name, problem] of [
        ["old", "There is no filter “colour”"],
        ["older", "bid is not the name of a batch"],
      ]) {
        await test.open(`views/${name}`);
        await page.getByRole("alert").getByText(problem).waitFor();
        await page.getByRole("button", { name: "Delete" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.waitForURL(/views$/);
      }
      await page.getByText("No views yet.").waitFor();
    },
  },
  {
    title: "a hundred views are found by a part of their names or queries, and axe finds nothing",
    async run(test) {
      const { page, context, server } = test;
      for (let n = 100; n < 200; n += 1)
        await server.post(`views/view-${n}/set`, { query: `state:dead queue:q${n}` });
      await test.open("views");
      await page.getByText("100 of 100").waitFor();
      await page.getByLabel("Text").fill("Q15");
      await gone(row(page, "view-100"));
      assert.equal(await page.locator("tbody tr").count(), 10);
      const axe = await context.browser().newContext({ bypassCSP: true, reducedMotion: "reduce" });
      const other = await axe.newPage();
      await other.goto(`${server.base}views`);
      await other.getByText("view-150").waitFor();
      assert.deepEqual(await violations(other), []);
      await axe.close();
    },
  },
  {
    title: "the palette finds pages and actions by the keyboard alone, and axe finds nothing in it",
    async run(test) {
      await fill(test);
      const { page, context, server } = test;
      const { keyboard } = page;
      const search = page.getByRole("dialog", { name: "Search" });
      await test.open("queues/mail");
      await page.getByRole("heading", { name: "mail" }).waitFor();
      await find(page, "retrying");
      await page.waitForURL(/jobs\?state=retrying$/);
      await row(page, "Fails").waitFor();
      await page.goBack();
      await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
      await keyboard.press("/");
      await keyboard.type("pau");
      await search.getByRole("option", { name: "Pause Action", selected: true }).waitFor();
      await keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Pause mail" }).waitFor();
      await keyboard.press("Escape");
      await keyboard.press("Control+k");
      await search.getByRole("option", { name: "Overview Page" }).waitFor();
      await keyboard.press("Escape");
      await gone(search);
      await keyboard.press("Control+k");
      await keyboard.type("m");
      await search.getByRole("option", { name: "mail Queue" }).waitFor();
      const at = () => search.getByRole("option", { selected: true }).innerText();
      const first = await at();
      await keyboard.press("ArrowDown");
      assert.notEqual(await at(), first);
      await keyboard.press("ArrowUp");
      assert.equal(await at(), first);
      const axe = await context.browser().newContext({ bypassCSP: true, reducedMotion: "reduce" });
      const other = await axe.newPage();
      await other.goto(server.base);
      await other.getByRole("button", { name: "Search" }).click();
      await other.getByRole("option", { name: "Overview Page" }).waitFor();
      assert.deepEqual(await violations(other), []);
      await axe.close();
    },
  },
  {
    title: "the palette finds workers, batches by their descriptions, Activity and shortcuts",
    async run(test) {
      const { client } = await fill(test);
      const batch = { description: "Nightly import", success: { jobtype: "T" } };
      await client.command("BATCH NEW", batch);
      const { page } = test;
      await test.open("");
      for (const [text, address] of [
        ["worker-1", /workers\/worker-1$/],
        ["nightly", /batches\/b-[\w-]{14}$/],
        ["activity", /activity$/],
      ]) {
        await find(page, text);
        await page.waitForURL(address);
      }
      await find(page, "shortcuts");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
  },
  {
    title: "the field at the top takes a query for jobs in any state",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("");
      await find(page, "error:timeout");
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

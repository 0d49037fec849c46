// A day in the life of a mail queue, by faktory-worker: tells what happens, in words that do not
// depend on when or where it runs. The server is the one that FAKTORY_URL names.
const { Client } = require("faktory-worker");

async function tell(title, call) {
  let value;
  try {
    value = await call();
  } catch (error) {
    value = `refused: ${error.message}`;
  }
  console.log(`${title}: ${JSON.stringify(value)}`);
}

function job(jid, queue, args, more = {}) {
  return { jid, queue, jobtype: "Mail", args, ...more };
}

// Times differ from run to run; that they are there does not.
function shown(work) {
  const entries = Object.entries(work || {}).map(([name, value]) =>
    name.endsWith("_at") ? [name, "a time"] : [name, value],
  );
  return Object.fromEntries(entries);
}

async function main() {
  const client = new Client({ wid: "interop-1", labels: ["mail"] });
  const counts = async () => {
    const { faktory } = await client.info();
    const { enqueued, ...tasks } = faktory.tasks;
    const sizes = ["Scheduled", "Retries", "Dead"].map((set) => tasks[set].size);
    return [faktory.queues, faktory.total_enqueued, ...sizes];
  };
  await tell("flush", () => client.flush());
  await tell("push", () => client.push(job("mail-0001", "mail", ["grüße", 1, { a: [null] }])));
  await tell("push more", () => client.push(job("mail-0002", "mail", [2], { retry: 1 })));
  const wrong = { ...job("bulk-0002", "bulk", []), jobtype: "" };
  await tell("bulk", () => client.pushBulk([job("bulk-0001", "bulk", [1]), wrong]));
  const at = "2099-01-01T00:00:00Z";
  await tell("scheduled", () => client.push(job("later-001", "mail", [], { at })));
  await tell("without args", () => client.push({ jid: "wrong-001", jobtype: "Mail" }));
  await tell("with a short jid", () => client.push(job("short", "mail", [])));
  await tell("counts", counts);
  await tell("first", async () => shown(await client.fetch("mail", "bulk")));
  await tell("its ACK", () => client.ack("mail-0001"));
  await tell("second", async () => shown(await client.fetch("mail", "bulk")));
  await tell("its FAIL", () => client.fail("mail-0002", new Error("no luck")));
  await tell("third", async () => shown(await client.fetch("mail", "bulk")));
  await tell("its ACK", () => client.ack("bulk-0001"));
  await tell("nothing", () => client.fetch("mail"));
  await tell("a FAIL of nobody", () => client.fail("nobody-01", new Error("no luck")));
  await tell("counts", counts);
  await tell("kill", () => client.retries.kill());
  await tell("counts", counts);
  await tell("requeue", () => client.dead.requeue());
  await tell("again", async () => {
    const { failure, ...rest } = shown(await client.fetch("mail"));
    return [rest.jid, failure.retry_count, failure.message, Object.keys(failure).sort()];
  });
  await tell("heartbeat", () => client.beat());
  await tell("clear", () => client.scheduled.clear());
  await tell("counts", counts);
  await client.close();
}

main();

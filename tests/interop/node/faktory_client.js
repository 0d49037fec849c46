// faktory-worker: `push` or `work`.
const { Client, Worker } = require("faktory-worker");
const readline = require("readline");
const { setTimeout: pause } = require("timers/promises");

// The library takes host, port and password from FAKTORY_URL, but for TLS it has to be told.
const tls = process.env.FAKTORY_URL.startsWith("tcp+tls:") ? { tlsOptions: {} } : {};

async function push() {
  const client = new Client(tls);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const work = JSON.parse(line);
    try {
      if (Array.isArray(work)) await pushBulk(client, work);
      else await client.push(work);
      console.log("ok");
    } catch (error) {
      console.log(`error ${error.message}`.replace(/[\r\n]+/g, " "));
    }
  }
  await client.close();
}

async function pushBulk(client, work) {
  const refused = await client.pushBulk(work);
  if (Object.keys(refused).length > 0) throw new Error(JSON.stringify(refused));
}

function say(jobtype, { jid, args, custom }) {
  console.log(JSON.stringify({ jobtype, jid, args, custom: custom || {} }));
}

function record() {
  return ({ job }) => say(job.jobtype, job);
}

function fail() {
  return ({ job }) => {
    say("Fail", job);
    throw new Error("no luck");
  };
}

function slow(seconds) {
  return async ({ job }) => {
    say("Slow", job);
    await pause(seconds * 1000);
    say("Slept", job);
  };
}

// Nothing else runs meanwhile: no heartbeat is sent, and no connection read.
function blocked(seconds) {
  return ({ job }) => {
    say("Blocked", job);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1000);
    say("Slept", job);
  };
}

function work() {
  const worker = new Worker({
    queues: process.env.INTEROP_QUEUES.split(","),
    concurrency: Number(process.env.INTEROP_CONCURRENCY),
    beatInterval: 5,
    labels: ["interop", "tried"],
    ...tls,
  });
  worker.register("Record", record);
  worker.register("beanstalk", record);
  worker.register("Fail", fail);
  worker.register("Slow", slow);
  worker.register("Blocked", blocked);
  // A server that is away for a moment is an event, not the end: the worker goes on trying.
  worker.on("error", (error) => console.error(error.message));
  process.on("unhandledRejection", (error) => console.error(error.message));
  worker.work();
}

if (process.argv[2] === "push") push();
else work();

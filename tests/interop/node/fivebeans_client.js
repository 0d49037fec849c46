// fivebeans, driven command by command.
const fivebeans = require("fivebeans");
const { host, port, serve, statsAnswer } = require("./driver");

let client;

function connect() {
  return new Promise((resolve, reject) => {
    client = new fivebeans.client(host, port);
    client.on("connect", () => resolve());
    client.on("error", reject);
    client.connect();
  });
}

// A loss of the connection calls no callback of the library: its user has to look for it.
function call(method, ...words) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error("the connection is closed"));
    client.once("close", gone);
    if (client.stream.destroyed) gone();
    client[method](...words, (error, ...values) => {
      client.removeListener("close", gone);
      if (error) reject(new Error(error));
      else resolve(values);
    });
  });
}

const done = (method) => async (...words) => {
  await call(method, ...words);
};

connect().then(() =>
  serve({
    connect,
    async put(tube, priority, delay, ttr, body) {
      await call("use", tube);
      const [id] = await call("put", priority, delay, ttr, Buffer.from(body, "hex"));
      return ["id", id];
    },
    watch: done("watch"),
    ignore: done("ignore"),
    async reserve(seconds) {
      try {
        const [id, body] = await call("reserve_with_timeout", seconds);
        return ["job", id, body.toString("hex")];
      } catch (error) {
        if (error.message === "TIMED_OUT") return ["none"];
        throw error;
      }
    },
    delete: done("destroy"),
    release: done("release"),
    bury: done("bury"),
    touch: done("touch"),
    async kick(tube, count) {
      await call("use", tube);
      await call("kick", count);
    },
    pause: done("pause_tube"),
    stats: async () => statsAnswer((await call("stats"))[0]),
    "stats-tube": async (tube) => statsAnswer((await call("stats_tube", tube))[0]),
    "stats-job": async (id) => statsAnswer((await call("stats_job", id))[0]),
    tubes: async () => ["tubes", ...(await call("list_tubes"))[0]],
  }),
);

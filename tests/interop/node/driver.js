// Reads commands, has each done, answers. What a handler throws is the answer `error TEXT`.
const readline = require("readline");

const [host, port] = (process.env.BEANSTALKD_URL || "").split(":");

// `handlers`: from a command to a function that is given its words and resolves to the answer's.
async function serve(handlers) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split("\t");
    try {
      const answer = (await handlers[command](...words)) || ["ok"];
      console.log(answer.join("\t"));
    } catch (error) {
      console.log(`error ${error.message || error}`.replace(/[\r\n]+/g, " "));
    }
  }
  process.exit(0);
}

function statsAnswer(stats) {
  return ["stats", ...Object.entries(stats).map(([name, value]) => `${name}=${value}`)];
}

module.exports = { host, port: Number(port), serve, statsAnswer };

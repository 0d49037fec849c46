// For a test suite that knows only port 11300: its connections go to BEANSTALKD_URL.
const net = require("net");
const { host, port } = require("./driver");

const connect = net.createConnection;
net.createConnection = (...address) =>
  address[0] === 11300 ? connect(port, host) : connect(...address);

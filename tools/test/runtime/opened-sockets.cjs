// The connections that this process opens. Node's diagnostics channel leaves out sockets that are made first and
// connected later, as those of pg are.
const { Socket } = require('node:net');

let opened = [];
const { connect } = Socket.prototype;

Socket.prototype.connect = function connectAndRemember(...args) {
  const entry = { socket: this, port: undefined };
  opened.push(entry);
  this.once('connect', () => (entry.port = this.remotePort));
  return connect.apply(this, args);
};

/** Forgets what was opened before, and returns a list that the connections opened from now on are added to. */
function rememberSockets() {
  opened = [];
  return opened;
}

module.exports = { rememberSockets };

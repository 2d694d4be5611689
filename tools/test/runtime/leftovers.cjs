// Finds what a test file leaves behind in the process that it shares with the files after it.
const { relative } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

/** The kinds of resources that keep a process running, by the names of `process.getActiveResourcesInfo()`. */
const resources = {
  TCPServerWrap: 'listening servers',
  Timeout: 'timers',
  ProcessWrap: 'running child processes',
  FSEventWrap: 'watched files',
};
/** Environment variables that libraries set: sharp sets VIPSHOME when it is loaded. */
const setByLibraries = ['VIPSHOME'];
/** Milliseconds that sockets and processes have to end before they count as left over. */
const graceMs = 2000;

class Leftovers {
  /** @param root Folder whose modules are checked for changed prototypes. @param sockets Those that the file opens. */
  constructor(root, sockets) {
    this.root = root;
    this.sockets = sockets;
    this.env = { ...process.env };
    this.resources = countResources();
    rememberPrototypes(root);
  }

  /**
   * Returns one line for each kind of resource that is left, after waiting for those that are about to end. A service
   * or a browser that test files share (`shares`) lasts until the run ends.
   */
  async findLeftovers({ ports = {}, shares = false } = {}) {
    const listLastingResources = () => [
      ...(shares ? [] : this.findLastingResources()),
      ...this.listOpenConnections(ports),
    ];
    for (const deadline = Date.now() + graceMs; listLastingResources().length > 0 && Date.now() < deadline;)
      await sleep(20);
    return [...listLastingResources(), ...this.listChangedVariables(), ...listChangedPrototypes(this.root)];
  }

  findLastingResources() {
    const now = countResources();
    return Object.entries(resources)
      .map(([type, name]) => ({ name, more: (now[type] ?? 0) - (this.resources[type] ?? 0) }))
      .filter(({ more }) => more > 0)
      .map(({ name, more }) => `${name}: ${more}`);
  }

  listOpenConnections(ports) {
    return Object.entries(ports)
      .map(([name, port]) => ({
        name,
        open: this.sockets.filter((each) => each.port === port && !each.socket.destroyed).length,
      }))
      .filter(({ open }) => open > 0)
      .map(({ name, open }) => `connections to ${name}: ${open}`);
  }

  listChangedVariables() {
    const names = new Set([...Object.keys(this.env), ...Object.keys(process.env)]);
    const changed = [...names].filter((name) => this.env[name] !== process.env[name] && !setByLibraries.includes(name));
    return changed.length > 0 ? [`environment variables: ${changed.join(', ')}`] : [];
  }
}

function countResources() {
  const counts = {};
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

/** Objects that all test files share, each with its name and the functions that it had when it was first seen. */
const remembered = new Map();
const rememberedModules = new Set();
const globals = { console, Date, Math, JSON, 'process.stdout': process.stdout };

function rememberPrototypes(root) {
  for (const [name, object] of Object.entries(globals)) rememberFunctions(name, object);
  for (const [path, module] of Object.entries(require.cache)) {
    if (!module.loaded || rememberedModules.has(path)) continue;
    rememberedModules.add(path);
    if (!path.startsWith(root) || path.endsWith('.spec.ts')) continue;
    if (path.includes('/node_modules/') && !/\/node_modules\/(pg|pg-pool|ioredis|bullmq)\//.test(path)) continue;
    for (const [name, value] of listExportedFunctions(module.exports))
      if (value.prototype) rememberFunctions(`${name}.prototype (${relative(root, path)})`, value.prototype);
  }
}

function listExportedFunctions(exports) {
  if (typeof exports === 'function') return [[exports.name, exports]];
  if (typeof exports !== 'object' || exports === null) return [];
  return Object.entries(Object.getOwnPropertyDescriptors(exports))
    .map(([name, { value, get }]) => [name, value ?? (get && tryGet(exports, name))])
    .filter(([, value]) => typeof value === 'function');
}

function tryGet(object, name) {
  try {
    return object[name];
  } catch {
    return undefined;
  }
}

function rememberFunctions(name, object) {
  if (!remembered.has(object)) remembered.set(object, { name, functions: listFunctions(object) });
}

function listFunctions(object) {
  return new Map(
    Object.entries(Object.getOwnPropertyDescriptors(object))
      .filter(([, { value }]) => typeof value === 'function')
      .map(([key, { value }]) => [key, value]),
  );
}

/** Reports each change once, because the next file starts with the changes that this call has found. */
function listChangedPrototypes(root) {
  const found = [];
  for (const [object, entry] of remembered) {
    const now = listFunctions(object);
    const changed = [...entry.functions].filter(([key, value]) => now.get(key) !== value).map(([key]) => key);
    if (changed.length > 0) found.push(`changed functions of ${entry.name}: ${changed.join(', ')}`);
    entry.functions = now;
  }
  rememberPrototypes(root);
  return found;
}

module.exports = { Leftovers };

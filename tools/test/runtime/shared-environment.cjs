// The environment of a test file is the process itself, so that code that one file has loaded is there for the next.
// Changes that a file made to the process are undone after the file.
const { ModuleMocker } = require('jest-mock');
const { ModernFakeTimers } = require('@jest/fake-timers');

module.exports = class SharedEnvironment {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.before = { env: { ...process.env }, cwd: process.cwd(), exit: process.exit };
  }

  async setup() {}

  async teardown() {
    const { env, cwd, exit } = this.before;
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    process.chdir(cwd);
    process.exit = exit;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
};

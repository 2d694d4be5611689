// Loads test files with Node's own `require`, so that a process loads each module once instead of once for each file.
// Only the test file itself, and the part of jest-circus that holds its describe blocks, tests and hooks, are loaded
// again for each file.
const asyncHooks = require('node:async_hooks');
const { installTypeScript } = require('./load-typescript.cjs');
const { readProcessorSeconds } = require('./processor-time.cjs');

class SharedRuntime {
  constructor(config, environment, _resolver, _transformer, _sources, _coverage, testPath) {
    this.environment = environment;
    this.testPath = testPath;
    this.sourceMaps = installTypeScript(config.testEnvironmentOptions.swc);
    this.storages = [];
    globalThis.jest = this.jestObject();
  }

  /** Loads the part of jest-circus that holds the tests of a file, which has to start empty. */
  requireInternalModule(path) {
    delete require.cache[require.resolve(path)];
    const { AsyncLocalStorage } = asyncHooks;
    const { storages } = this;
    asyncHooks.AsyncLocalStorage = class extends AsyncLocalStorage {
      constructor() {
        super();
        storages.push(this);
      }
    };
    try {
      return require(path);
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    }
  }

  requireModule(path) {
    delete require.cache[path];
    const loaded = require(path);
    this.startedAt = Date.now();
    this.processorSecondsAtStart = readProcessorSeconds();
    return loaded;
  }

  jestObject() {
    const { moduleMocker: mocker, fakeTimersModern: timers } = this.environment;
    const jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      requireActual: (path) => require(path),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      setTimeout: (ms) => (globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = ms),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    };
    return jest;
  }

  setGlobalsForRuntime() {}

  enterTestCode() {}

  leaveTestCode() {}

  unstable_shouldLoadAsEsm() {
    return false;
  }

  getSourceMaps() {
    return this.sourceMaps;
  }

  /**
   * Disables the storages that jest-circus created for this file. An enabled AsyncLocalStorage would be written to
   * every promise of all later files.
   */
  teardown() {
    for (const storage of this.storages) storage.disable();
    delete require.cache[this.testPath];
    delete globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')];
  }

  getAllCoverageInfoCopy() {}
}

module.exports = { __esModule: true, default: SharedRuntime };

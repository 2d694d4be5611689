// Processor time instead of elapsed time, so that another program on the machine does not make a test file look slow.
const { readFileSync } = require('node:fs');
const { constants, PerformanceObserver } = require('node:perf_hooks');

const majorCollections = [constants.NODE_PERFORMANCE_GC_MAJOR, constants.NODE_PERFORMANCE_GC_INCREMENTAL];
let collectingMs = 0;
new PerformanceObserver((list) => {
  for (const { detail, duration } of list.getEntries())
    if (majorCollections.includes(detail.kind)) collectingMs += duration;
}).observe({ entryTypes: ['gc'] });

/**
 * Processor seconds of this process's main thread and of its finished child processes. Major garbage collections and
 * V8's other threads do not count: they work on the heap and the code of all files before this one, and took up to two
 * seconds of whichever file was running.
 */
function readProcessorSeconds() {
  const { own } = readSecondsFrom(`/proc/self/task/${process.pid}/stat`);
  return own - collectingMs / 1000 + readChildrenSeconds();
}

/** Processor seconds of finished child processes. */
function readChildrenSeconds() {
  return readSecondsFrom('/proc/self/stat').children;
}

/**
 * Reads /proc, because Node reports only the sum of all threads. The fields follow the program's name, which may
 * contain spaces.
 */
function readSecondsFrom(file) {
  const fields = readFileSync(file, 'latin1').split(') ').at(-1).split(' ').map(Number);
  return { own: (fields[11] + fields[12]) / ticksPerSecond, children: (fields[13] + fields[14]) / ticksPerSecond };
}

/**
 * Returns the ratio of the processor time that a fixed piece of work takes now to the time that it took on the machine
 * for which the limits were set.
 */
function measureSlowness() {
  const startedAt = process.cpuUsage();
  let sum = 0;
  for (let n = 0; n < 4_000_000; n += 1) sum = (sum * 31 + n) | 0;
  const { user, system } = process.cpuUsage(startedAt);
  return sum === 0 ? 1 : (user + system) / 1000 / referenceMs;
}

/** Linux reports processor time to programs in this unit on every architecture. */
const ticksPerSecond = 100;
const referenceMs = 5;

module.exports = { readChildrenSeconds, readProcessorSeconds, measureSlowness };

// Processor time instead of elapsed time, so that another program on the machine does not make a test file look slow.
const { readFileSync } = require('node:fs');

/** Processor seconds of this process and its finished child processes. */
function processorSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childrenSeconds();
}

/**
 * Processor seconds of finished child processes, from /proc because Node does not report them. The fields follow the
 * program's name, which may contain spaces.
 */
function childrenSeconds() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1).split(' ');
  const [userTicks, systemTicks] = [Number(fields[13]), Number(fields[14])];
  return (userTicks + systemTicks) / ticksPerSecond;
}

/** How many times more processor time a fixed piece of work takes on this machine than on the one the limits were set on. */
function slowness() {
  const startedAt = process.cpuUsage();
  let sum = 0;
  for (let n = 0; n < 4_000_000; n += 1) sum = (sum * 31 + n) | 0;
  const { user, system } = process.cpuUsage(startedAt);
  return sum === 0 ? 1 : (user + system) / 1000 / referenceMs;
}

/** Linux reports processor time to programs in this unit on every architecture. */
const ticksPerSecond = 100;
const referenceMs = 5;

module.exports = { childrenSeconds, processorSeconds, slowness };

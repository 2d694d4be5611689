import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

// Runs the real gateway, and measures the longest block of its event loop and its memory.

export interface Strain {
  maxDelayMs: number;
  residentBytes: number;
  peakBytes: number;
}

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let peakBytes = 0;
const recordTurn = () => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss()));
setInterval(recordTurn, 5).unref();

/** Answers any message with the measurements since the previous message. */
process.on('message', () => {
  recordTurn();
  const strain: Strain = { maxDelayMs: delay.max / 1e6, residentBytes: process.memoryUsage.rss(), peakBytes };
  delay.reset();
  peakBytes = 0;
  process.send!(strain);
});

// eslint-disable-next-line @typescript-eslint/no-require-imports
require(join(__dirname, '../../apps/gateway/src/main.js'));

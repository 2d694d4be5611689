import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const compiled = join(__dirname, '../../../../dist/libs/platform/src/operations/bound-garbage.js');

/** Retains as many objects as a busy service, repeatedly discards old objects, and prints the peak of its heap. */
const program = `
  if (process.argv[1] === 'bounded') require(process.argv[2]).limitGarbageGrowth();
  const retained = Array.from({ length: 300000 }, (_, at) => ({ at, text: ['x' + at] }));
  const dying = new Array(100000);
  let peak = 0;
  (async () => {
    for (let at = 0; at < 3000000; at += 1) {
      dying[at % dying.length] = { at, text: ['y' + at] };
      if (at % 25000) continue;
      peak = Math.max(peak, process.memoryUsage().heapUsed);
      await new Promise(setImmediate);
    }
    console.log(JSON.stringify({ peak, retained: retained.length }));
  })();`;

describe('a service’s heap', () => {
  it('a service’s heap stays smaller with limitGarbageGrowth than with V8’s defaults', async () => {
    const peakOf = async (how: string) => {
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, how, compiled]);
      return (JSON.parse(stdout) as { peak: number }).peak;
    };
    expect((await peakOf('bounded')) / (await peakOf('free'))).toBeLessThan(0.8);
  }, 60_000);
});

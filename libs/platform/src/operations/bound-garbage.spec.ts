import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const compiled = join(__dirname, '../../../../dist/libs/platform/src/operations/bound-garbage.js');

/** Keeps as much as a busy service does, lets as much again die old, over and over, and says what its heap came to. */
const program = `
  if (process.argv[1] === 'bounded') require(process.argv[2]).boundGarbage();
  const kept = Array.from({ length: 300000 }, (_, at) => ({ at, text: ['x' + at] }));
  const dying = new Array(100000);
  let peak = 0;
  (async () => {
    for (let at = 0; at < 3000000; at += 1) {
      dying[at % dying.length] = { at, text: ['y' + at] };
      if (at % 25000) continue;
      peak = Math.max(peak, process.memoryUsage().heapUsed);
      await new Promise(setImmediate);
    }
    console.log(JSON.stringify({ peak, kept: kept.length }));
  })();`;

describe('a service’s heap', () => {
  it('is bounded by what lives in it, where V8 would let it grow', async () => {
    const peakOf = async (how: string) => {
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, how, compiled]);
      return (JSON.parse(stdout) as { peak: number }).peak;
    };
    expect((await peakOf('bounded')) / (await peakOf('free'))).toBeLessThan(0.8);
  }, 60_000);
});

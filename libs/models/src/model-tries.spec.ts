import { Semaphore } from '@muster/platform';
import { runWithRetries } from './model-tries';

describe('the tries of a model call', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('the pause before each further try of a model call doubles from 250 ms, plus up to a quarter', async () => {
    let tries = 0;
    const call = runWithRetries({ turns: new Semaphore(1), timeoutMs: 60_000, admit: () => Promise.resolve() }, () => {
      tries += 1;
      return Promise.reject(Object.assign(new Error('busy'), { status: 503 }));
    });
    const fault = call.then(
      () => null,
      (error: Error) => error,
    );
    let elapsedMs = 0;
    const triesAt = async (ms: number) => {
      await jest.advanceTimersByTimeAsync(ms - elapsedMs);
      elapsedMs = ms;
      return tries;
    };
    expect(await triesAt(0)).toBe(1);
    for (const [at, earliestMs] of [250, 250 + 500, 250 + 500 + 1000].entries()) {
      expect(await triesAt(earliestMs - 1)).toBe(at + 1);
      expect(await triesAt(earliestMs * 1.25)).toBe(at + 2);
    }
    expect(await fault).toMatchObject({ reason: 'status' });
    expect(await triesAt(60_000)).toBe(4);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { finishWithin } from './finish-within';

describe('work within a time', () => {
  const never = new Promise<string>(() => undefined);
  const tooLate = (ended: boolean) => (ended ? 'ended' : 'late');

  it('finishWithin returns the result of work that finishes in time', async () => {
    expect(await finishWithin(10_000, Promise.resolve('done'), tooLate)).toBe('done');
  });

  it('finishWithin fails with the error of the work', async () => {
    await expect(finishWithin(10_000, Promise.reject(new Error('no')), tooLate)).rejects.toThrow('no');
  });

  it('finishWithin calls `late` when the time is over', async () => {
    expect(await finishWithin(1, never, tooLate)).toBe('late');
    const refuse = () => {
      throw new Error('no answer within 1 ms');
    };
    await expect(finishWithin(1, never, refuse)).rejects.toThrow('no answer within 1 ms');
  });

  it('finishWithin calls `late` at once when the signal aborts, even if it had already aborted', async () => {
    const ending = new AbortController();
    const waiting = finishWithin(600_000, never, tooLate, ending.signal);
    ending.abort();
    expect(await waiting).toBe('ended');
    expect(await finishWithin(600_000, never, tooLate, ending.signal)).toBe('ended');
  });

  it('finishWithin ignores an error that the work throws after its time limit', async () => {
    let fail: ((error: Error) => void) | undefined;
    const work = new Promise<string>((_, reject) => (fail = reject));
    expect(await finishWithin(1, work, tooLate)).toBe('late');
    const unhandled: unknown[] = [];
    const record = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', record);
    fail!(new Error('too late'));
    // Node reports unhandled rejections when the queue of microtasks is empty.
    await sleep(0);
    process.off('unhandledRejection', record);
    expect(unhandled).toEqual([]);
  });
});

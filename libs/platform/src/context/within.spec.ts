import { setTimeout as sleep } from 'node:timers/promises';
import { within } from './within';

describe('work within a time', () => {
  const never = new Promise<string>(() => undefined);
  const tooLate = (ended: boolean) => (ended ? 'ended' : 'late');

  it('is answered by the work that is in time', async () => {
    expect(await within(10_000, Promise.resolve('done'), tooLate)).toBe('done');
  });

  it('fails as the work does', async () => {
    await expect(within(10_000, Promise.reject(new Error('no')), tooLate)).rejects.toThrow('no');
  });

  it('is given up when the time is over', async () => {
    expect(await within(1, never, tooLate)).toBe('late');
    const refuse = () => {
      throw new Error('no answer within 1 ms');
    };
    await expect(within(1, never, refuse)).rejects.toThrow('no answer within 1 ms');
  });

  it('is given up at once when the wait is ended, also one that begins afterwards', async () => {
    const ending = new AbortController();
    const waiting = within(600_000, never, tooLate, ending.signal);
    ending.abort();
    expect(await waiting).toBe('ended');
    expect(await within(600_000, never, tooLate, ending.signal)).toBe('ended');
  });

  it('lets work that fails afterwards fail without a word', async () => {
    let fail: ((error: Error) => void) | undefined;
    const work = new Promise<string>((_, reject) => (fail = reject));
    expect(await within(1, work, tooLate)).toBe('late');
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', hear);
    fail!(new Error('too late'));
    // Unhandled rejections are told of once the queue of microtasks is empty.
    await sleep(0);
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
  });
});

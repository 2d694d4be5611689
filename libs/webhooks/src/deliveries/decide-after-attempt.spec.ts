import { decideAfterAttempt, failingLimitMs, retryDelaysMs } from './decide-after-attempt';

const now = new Date('2026-03-02T09:00:00.000Z');
const failed = { statusCode: 503, error: null, tries: 1, failingSince: null };

describe('the decision about an attempted delivery', () => {
  it.each([200, 201, 204, 299])(
    'a webhook delivery is “delivered” after status %d, and the endpoint’s failures are cleared',
    (statusCode) => {
      expect(decideAfterAttempt({ ...failed, statusCode, failingSince: new Date(0) }, now, 0)).toEqual({
        delivery: { status: 'delivered' },
        reason: `answered ${statusCode}`,
        failingSince: null,
        turnOff: null,
      });
    },
  );

  it.each([199, 300, 301, 302, 307, 400, 404, 429, 500, 503])(
    'a webhook delivery is retried after status %d',
    (statusCode) => {
      expect(decideAfterAttempt({ ...failed, statusCode }, now, 0)).toEqual({
        delivery: { status: 'pending', dueAt: new Date(now.getTime() + 5000) },
        reason: `answered ${statusCode}`,
        failingSince: now,
        turnOff: null,
      });
    },
  );

  it('a webhook delivery is retried if the response was interrupted, whatever its status', () => {
    const decision = decideAfterAttempt({ ...failed, statusCode: 200, error: 'aborted' }, now, 0);
    expect(decision).toMatchObject({ delivery: { status: 'pending' }, reason: 'aborted' });
  });

  it('a webhook delivery is retried with growing delays and up to 10 % jitter, and is “dead” after the eighth attempt', () => {
    expect(retryDelaysMs.map((ms) => ms / 1000)).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400]);
    for (const [at, delay] of retryDelaysMs.entries()) {
      for (const chance of [0, 0.5, 1]) {
        const { delivery } = decideAfterAttempt({ ...failed, tries: at + 1 }, now, chance);
        expect(delivery).toEqual({ status: 'pending', dueAt: new Date(now.getTime() + delay * (1 + chance / 10)) });
      }
    }
    expect(decideAfterAttempt({ ...failed, tries: 8 }, now, 0)).toMatchObject({
      delivery: { status: 'dead' },
      reason: 'answered 503; no attempts left',
    });
  });

  it('a webhook delivery is “dead” after status 410, and its endpoint is turned off', () => {
    expect(decideAfterAttempt({ ...failed, statusCode: 410 }, now, 0)).toMatchObject({
      delivery: { status: 'dead' },
      turnOff: 'gone',
    });
  });

  it('a webhook endpoint is turned off after five days of failures only, and not before', () => {
    const since = (ms: number) => new Date(now.getTime() - ms);
    expect(decideAfterAttempt({ ...failed, failingSince: since(failingLimitMs - 1) }, now, 0).turnOff).toBeNull();
    expect(decideAfterAttempt({ ...failed, failingSince: since(failingLimitMs) }, now, 0)).toMatchObject({
      turnOff: 'failing',
      failingSince: since(failingLimitMs),
    });
  });
});

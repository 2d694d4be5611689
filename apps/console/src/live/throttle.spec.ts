import { setTimeout as sleep } from 'node:timers/promises';
import { Throttle } from './throttle';

describe('Throttle', () => {
  it('a throttled function runs once more after the pause if it was called several times during the pause', async () => {
    let acted = 0;
    let reportSecondCall: () => void = () => undefined;
    const hasActedTwice = new Promise<void>((resolve) => (reportSecondCall = resolve));
    const throttle = new Throttle(() => {
      acted += 1;
      if (acted === 2) reportSecondCall();
    }, 5);
    for (let call = 0; call < 3; call += 1) throttle.requestCall();
    expect(acted).toBe(1);
    await hasActedTwice;
    await sleep(30);
    expect(acted).toBe(2);
  });

  it('a throttled function does not run again after the throttle was stopped', async () => {
    let acted = 0;
    const throttle = new Throttle(() => void (acted += 1), 5);
    throttle.requestCall();
    throttle.requestCall();
    throttle.stopCalls();
    await sleep(30);
    expect(acted).toBe(1);
  });
});

import { savedMsOf } from './replay-idle';

const minute = 60_000;
const facts = {
  policy: 'fixed' as const,
  gaps: Array.from({ length: 20 }, () => 240 * minute),
  limitMs: 30 * minute,
  bootMs: minute,
  prewake: true,
};
const often = { ...facts, gaps: Array.from({ length: 20 }, () => 2 * minute) };

describe('what adaptive is worth in an idle time', () => {
  it('is the machine’s time until the limit, where its next run came hours later', () => {
    // Both stop it and start it again: fixed after half an hour, adaptive at once.
    const slept = { lengthMs: 240 * minute, scheduled: false, onMs: 30 * minute, slept: true };
    expect(savedMsOf(slept, facts)).toBe(30 * minute);
    // As it was: its stop was a minute late.
    expect(savedMsOf({ ...slept, onMs: 31 * minute }, facts)).toBe(31 * minute);
  });

  it('is nothing where both leave it on, and a loss where another start cost more', () => {
    const awake = { lengthMs: 2 * minute, scheduled: false, onMs: 2 * minute, slept: false };
    expect(savedMsOf(awake, often)).toBe(0);
    // Stopped at once, and started again: half a minute and a boot, for a minute on.
    expect(savedMsOf({ ...awake, lengthMs: minute, onMs: minute }, facts)).toBe(minute - 1.5 * minute);
  });

  it('counts the boot ahead of a schedule’s time to both', () => {
    // On for half an hour, and again for the lead of a boot, a tenth and three seconds.
    const lead = 69_000;
    const woken = { lengthMs: 240 * minute, scheduled: true, onMs: 30 * minute + lead, slept: false };
    expect(savedMsOf(woken, facts)).toBe(30 * minute);
    expect(savedMsOf({ ...woken, onMs: 30 * minute, slept: true }, { ...facts, prewake: false })).toBe(30 * minute);
  });

  it('is what fixed would have taken more, where adaptive held', () => {
    const slept = { lengthMs: 240 * minute, scheduled: false, onMs: 0.5 * minute, slept: true };
    expect(savedMsOf(slept, { ...facts, policy: 'adaptive' })).toBe(29.5 * minute);
    const early = { lengthMs: 10 * minute, scheduled: false, onMs: 0, slept: true };
    expect(savedMsOf(early, { ...facts, policy: 'adaptive' })).toBe(8.5 * minute);
  });
});

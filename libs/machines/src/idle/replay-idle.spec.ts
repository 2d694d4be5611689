import { computeSavedMs } from './replay-idle';

const minute = 60_000;
const facts = {
  policy: 'fixed' as const,
  gaps: Array.from({ length: 20 }, () => 240 * minute),
  limitMs: 30 * minute,
  bootMs: minute,
  prewake: true,
};
const often = { ...facts, gaps: Array.from({ length: 20 }, () => 2 * minute) };

describe('the saving of the adaptive policy in an idle time', () => {
  it('the adaptive policy saves the machine time until the limit if the next run came hours later', () => {
    // Both policies stop the machine and start it for the next run: the fixed policy stops after half an hour, the
    // adaptive one at once.
    const slept = { lengthMs: 240 * minute, scheduled: false, onMs: 30 * minute, slept: true };
    expect(computeSavedMs(slept, facts)).toBe(30 * minute);
    // The actual time for which the machine was on counts. Here the stop was a minute late.
    expect(computeSavedMs({ ...slept, onMs: 31 * minute }, facts)).toBe(31 * minute);
  });

  it('the adaptive policy’s saving is 0 if the machine stays on, and negative if another start costs more', () => {
    const awake = { lengthMs: 2 * minute, scheduled: false, onMs: 2 * minute, slept: false };
    expect(computeSavedMs(awake, often)).toBe(0);
    // The adaptive policy would have stopped and started the machine: half a minute and a boot, compared with a minute
    // on.
    expect(computeSavedMs({ ...awake, lengthMs: minute, onMs: minute }, facts)).toBe(minute - 1.5 * minute);
  });

  it('the comparison of the adaptive with the fixed policy counts the boot ahead of a scheduled run as a cost of both', () => {
    // The machine was on for half an hour, and before the scheduled run for the lead time: 1.1 boots and 3 s.
    const lead = 69_000;
    const woken = { lengthMs: 240 * minute, scheduled: true, onMs: 30 * minute + lead, slept: false };
    expect(computeSavedMs(woken, facts)).toBe(30 * minute);
    expect(computeSavedMs({ ...woken, onMs: 30 * minute, slept: true }, { ...facts, prewake: false })).toBe(
      30 * minute,
    );
  });

  it('the saving is relative to the fixed policy if the adaptive policy was in effect', () => {
    const slept = { lengthMs: 240 * minute, scheduled: false, onMs: 0.5 * minute, slept: true };
    expect(computeSavedMs(slept, { ...facts, policy: 'adaptive' })).toBe(29.5 * minute);
    const early = { lengthMs: 10 * minute, scheduled: false, onMs: 0, slept: true };
    expect(computeSavedMs(early, { ...facts, policy: 'adaptive' })).toBe(8.5 * minute);
  });
});

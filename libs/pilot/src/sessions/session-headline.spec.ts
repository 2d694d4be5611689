import { writeSessionHeadline } from './session-headline';

describe('the headline of a session', () => {
  const claims = { attempted: 0, eobUploaded: 0, noEobFound: 0, failed: 0 };
  const write = (length: number) => writeSessionHeadline({ claims, durationMs: null, stopReason: '😀'.repeat(length) });

  it('a stop reason of 200 characters is shown in full, and a longer one is cut', () => {
    expect(write(200)).toBe(`No claims; stopped: ${'😀'.repeat(200)}.`);
    expect(write(201)).toBe(`No claims; stopped: ${'😀'.repeat(200)}….`);
  });
});

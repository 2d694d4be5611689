import { ServiceClock } from './clock';

const hourMs = 3_600_000;

describe("the service's clock", () => {
  afterEach(() => jest.restoreAllMocks());

  /** A reading of the database's clock that took `tookMs` milliseconds. */
  const readingOf = (readMs: number, tookMs = 0) => {
    const answeredAt = performance.now();
    return { readMs, requestedAt: answeredAt - tookMs, answeredAt };
  };
  const offBy = (clock: ServiceClock, otherMs: number) => Math.abs(clock.now().getTime() - otherMs);

  it.each([
    ['an hour ahead', hourMs],
    ['an hour behind', -hourMs],
  ])('the service’s clock follows the database on a machine whose clock is %s', (_case, offMs) => {
    const right = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => right + offMs);
    const clock = new ServiceClock();
    expect(offBy(clock, right + offMs)).toBeLessThan(1000);
    clock.adjustToReading(readingOf(right));
    expect(offBy(clock, right)).toBeLessThan(1000);
  });

  it('a jump of the machine’s clock does not change the service’s clock', () => {
    const clock = new ServiceClock();
    const right = Date.now();
    clock.adjustToReading(readingOf(right));
    jest.spyOn(Date, 'now').mockImplementation(() => right + hourMs);
    expect(offBy(clock, right)).toBeLessThan(1000);
  });

  it('the service’s clock follows a jump of the database’s clock', () => {
    const clock = new ServiceClock();
    const right = Date.now();
    clock.adjustToReading(readingOf(right));
    clock.adjustToReading(readingOf(right - hourMs));
    expect(offBy(clock, right - hourMs)).toBeLessThan(1000);
  });

  it('the service’s clock does not run backwards when it is corrected by less than a second', () => {
    const clock = new ServiceClock();
    const before = clock.now().getTime();
    clock.adjustToReading(readingOf(before - 500));
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(before);
    expect(offBy(clock, before)).toBeLessThan(500);
  });

  it('the service’s clock stays unchanged if a slow reading is too imprecise to contradict it', () => {
    const clock = new ServiceClock();
    const right = Date.now();
    clock.adjustToReading(readingOf(right));
    // The reading took 10 s, and the value belongs to any moment in that time. So the clock may be right and is not
    // changed.
    clock.adjustToReading(readingOf(right - 4000, 10_000));
    expect(offBy(clock, right)).toBeLessThan(1000);
  });

  it('a slow reading that contradicts the service’s clock sets it to the middle of the times that the reading allows', () => {
    const clock = new ServiceClock();
    const right = Date.now();
    clock.adjustToReading(readingOf(right));
    clock.adjustToReading(readingOf(right + hourMs, 10_000));
    expect(offBy(clock, right + hourMs + 5000)).toBeLessThan(1000);
  });
});

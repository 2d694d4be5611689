import { decideStreamStart } from './decide-stream-start';

describe('the start of a stream', () => {
  it.each<[string | undefined, number | null, number, number, boolean]>([
    [undefined, 1, 9, 9, false],
    ['9', 1, 9, 9, false],
    ['4', 1, 9, 4, false],
    ['0', 1, 9, 0, false],
    // The next entry is the oldest one that is stored.
    ['4', 5, 9, 4, false],
    ['3', 5, 9, 9, true],
    // A number that was never assigned: the database was restored from a backup.
    ['10', 1, 9, 9, true],
    ['9', null, 9, 9, false],
    ['8', null, 9, 9, true],
    ['0', null, 0, 0, false],
  ])('after %s, with the stored entries from %s to %s, it is after %s', (lastEventId, oldest, latest, seq, isCut) => {
    const resync = { lastEventId, oldest: oldest === null ? null : String(oldest), latest: String(latest) };
    expect(decideStreamStart(lastEventId, { oldest, latest })).toEqual(isCut ? { seq, resync } : { seq });
  });
});

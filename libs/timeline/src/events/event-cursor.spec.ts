import { decodeEventCursor, encodeEventCursor, parseSnapshotEnd } from './event-cursor';

const thing = '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e';

describe('the cursor of an event', () => {
  it.each([
    [{ at: 1, snapshot: '745:745:' }],
    [{ at: 1_700_000_000_000, snapshot: '745:749:745,746' }],
    [{ at: 7, snapshot: '1:2:1', within: { upto: '2:9:3,8', last: { transactionId: 5, thing, seq: 12 } } }],
  ])('the event cursor %j is read as it was written', (cursor) => {
    expect(decodeEventCursor(encodeEventCursor(cursor))).toEqual(cursor);
  });

  it.each([
    '',
    '1',
    '1_745.749',
    // The first running transaction must be a number above 0, and not above the end.
    '1_0.749.',
    '1_750.749.',
    // Running transactions grow and are inside the snapshot.
    '1_745.749.744',
    '1_745.749.749',
    '1_745.749.746-745',
    '1_745.749.746-746',
    '1_745.749.745_x',
    `1_745.749._5.4._5_${thing}_1`,
    `1_745.749._4.5._5_${thing}`,
    '1_9999999999999999999.9999999999999999999.',
  ])('the text %s is refused as an event cursor', (text) => {
    expect(decodeEventCursor(text)).toBeNull();
  });

  it('the end of a Postgres snapshot is its second number', () => {
    expect(parseSnapshotEnd('745:749:745,746')).toBe(749n);
  });
});

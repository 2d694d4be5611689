import { findGap, getPieceFileName, getSegmentName, parsePieceFileName, parsePosition } from './wal-position';

const format = { timeline: 1, segmentSize: 0x100_0000 };

describe('positions in the log', () => {
  it('a position is in the segment that Postgres names', () => {
    const nameOf = (position: string) => getSegmentName(parsePosition(position), format);
    expect(nameOf('0/3000148')).toBe('000000010000000000000003');
    expect(nameOf('0/4000000')).toBe('000000010000000000000004');
    expect(nameOf('1A/FF000028')).toBe('000000010000001A000000FF');
    expect(getSegmentName(parsePosition('1/0'), { timeline: 17, segmentSize: 0x400_0000 })).toBe(
      '000000110000000100000000',
    );
  });

  it('the name of a piece’s file contains its segment, its number and its range', () => {
    const piece = { segment: '000000010000001A000000FF', number: 12, from: 8192, to: 65_536 };
    expect(parsePieceFileName(getPieceFileName(piece))).toEqual(piece);
    expect(parsePieceFileName('000000010000001A000000FF')).toBeNull();
  });
});

describe('a gap in the log', () => {
  const start = parsePosition('0/3000000');
  const [third, fourth, fifth] = [3, 4, 5].map((segment) => `00000001000000000000000${segment}`) as [
    string,
    string,
    string,
  ];
  const size = format.segmentSize;
  const whole = (segment: string, number: number) => ({ segment, number, from: 0, to: size });

  it('pieces that follow each other from the start on have no gap', () => {
    const parts = [
      { segment: third, number: 1, from: 0, to: 100 },
      { segment: third, number: 2, from: 100, to: size },
      whole(fourth, 3),
      { segment: fifth, number: 4, from: 0, to: 10 },
    ];
    expect(findGap(parts, start, format)).toBeNull();
    expect(findGap(parts.toReversed(), start, format)).toBeNull();
  });

  it('an absent segment, an incomplete one before another, and an absent piece are gaps', () => {
    expect(findGap([], start, format)).toBe(third);
    expect(findGap([whole(fourth, 1)], start, format)).toBe(third);
    expect(findGap([whole(third, 1), whole(fifth, 2)], start, format)).toBe(fourth);
    const incomplete = [{ segment: third, number: 1, from: 0, to: 100 }, whole(fourth, 2)];
    expect(findGap(incomplete, start, format)).toBe(third);
    const torn = [
      { segment: third, number: 1, from: 0, to: 100 },
      { segment: third, number: 3, from: 200, to: size },
    ];
    expect(findGap(torn, start, format)).toBe(third);
  });
});

/** A position in the write-ahead log as Postgres prints it, such as `0/3000148`. */
export function parsePosition(text: string): bigint {
  const [high, low] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

export interface WalFormat {
  timeline: number;
  /** Size of a segment file in bytes. */
  segmentSize: number;
}

/** Returns the name of the segment file that contains the position. */
export function getSegmentName(position: bigint, { timeline, segmentSize }: WalFormat): string {
  const segment = position / BigInt(segmentSize);
  const segmentsPerId = 0x1_0000_0000n / BigInt(segmentSize);
  return [BigInt(timeline), segment / segmentsPerId, segment % segmentsPerId].map(formatPart).join('');
}

function formatPart(part: bigint): string {
  return part.toString(16).toUpperCase().padStart(8, '0');
}

/** A saved piece of a segment file. Pieces with a higher number replace the bytes of earlier ones. */
export interface WalPiece {
  segment: string;
  number: number;
  /** Range of the piece within the segment. */
  from: number;
  to: number;
}

export function getPieceFileName({ segment, number, from, to }: WalPiece): string {
  return `${segment}.${String(number).padStart(10, '0')}.${from}-${to}.gz.age`;
}

/** Parses the name of a piece's file; null for other files. */
export function parsePieceFileName(name: string): WalPiece | null {
  const [, segment, number, from, to] = /^([0-9A-F]{24})\.(\d+)\.(\d+)-(\d+)\.gz\.age$/.exec(name) ?? [];
  return segment ? { segment, number: Number(number), from: Number(from), to: Number(to) } : null;
}

/**
 * Returns the first segment that is not completely saved although a later one is saved, or that is absent; null if the
 * log has no gap from the first segment on.
 */
export function findGap(pieces: readonly WalPiece[], first: bigint, format: WalFormat): string | null {
  const ends = new Map<string, number>();
  for (const { segment, from, to } of pieces.toSorted((one, other) => one.number - other.number)) {
    const end = ends.get(segment) ?? 0;
    if (from > end) return segment;
    ends.set(segment, Math.max(end, to));
  }
  const last = [...ends.keys()].sort().at(-1);
  for (let position = first; ; position += BigInt(format.segmentSize)) {
    const segment = getSegmentName(position, format);
    if (!last || !ends.has(segment)) return segment;
    if (segment === last) return null;
    if (ends.get(segment) !== format.segmentSize) return segment;
  }
}

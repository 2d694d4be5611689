/**
 * A reader's position in the events of an organization. The order in which transactions become visible cannot be
 * expressed by a number. So the cursor is a Postgres snapshot: the reader has got everything that is visible in the
 * snapshot. If a page ends in the middle of the rows of a later snapshot, the cursor also contains that snapshot and
 * the last row on the page.
 */
export interface EventCursor {
  /** Time of the snapshot in unix milliseconds, by the database's clock. */
  at: number;
  /** The snapshot in the notation of Postgres, such as `745:749:745,746`. */
  snapshot: string;
  within?: { upto: string; last: EventKey };
}

/**
 * Identifies a row and defines the order of the rows: by agent and number for a timeline entry, otherwise by the
 * event's id.
 */
interface EventKey {
  transactionId: number;
  thing: string;
  seq: number;
}

/** Formats a cursor as the id of an event. The reader sends it back as Last-Event-ID. */
export function encodeEventCursor({ at, snapshot, within }: EventCursor): string {
  const { upto, last } = within ?? {};
  const parts = [String(at), encodeSnapshot(snapshot)];
  if (upto && last) parts.push(encodeSnapshot(upto), String(last.transactionId), last.thing, String(last.seq));
  return parts.join('_');
}

/** Parses the id of an event. Returns null if the id is not valid. */
export function decodeEventCursor(text: string): EventCursor | null {
  const found = pattern.exec(text)?.groups;
  if (!found) return null;
  const { at, snapshot, upto, transaction, thing, seq } = found;
  const cursor = { at: Number(at), snapshot: decodeSnapshot(snapshot!) };
  if (!isSnapshotText(cursor.snapshot)) return null;
  if (upto === undefined) return cursor;
  const last = { transactionId: Number(transaction), thing: thing!, seq: Number(seq) };
  return isSnapshotText(decodeSnapshot(upto)) ? { ...cursor, within: { upto: decodeSnapshot(upto), last } } : null;
}

/** Returns the xmax of a snapshot: the first transaction id that was not assigned yet. */
export function parseSnapshotEnd(snapshot: string): bigint {
  return BigInt(snapshot.split(':')[1]!);
}

const snapshotPattern = String.raw`\d{1,18}\.\d{1,18}\.(?:\d{1,18}(?:-\d{1,18})*)?`;
const key = String.raw`(?<transaction>\d{1,15})_(?<thing>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_(?<seq>\d{1,15})`;
const pattern = new RegExp(
  `^(?<at>\\d{1,15})_(?<snapshot>${snapshotPattern})(?:_(?<upto>${snapshotPattern})_${key})?$`,
);

const encodeSnapshot = (text: string) => text.replaceAll(':', '.').replaceAll(',', '-');
const decodeSnapshot = (text: string) => text.replaceAll('.', ':').replaceAll('-', ',');

/** Whether the text is a snapshot that Postgres accepts; any other text would make the query fail. */
function isSnapshotText(text: string): boolean {
  const [from, to, running] = text.split(':') as [string, string, string];
  const open = running === '' ? [] : running.split(',').map(BigInt);
  const isGrowing = open.every((id, at) => at === 0 || open[at - 1]! < id);
  const isInside = open.every((id) => id >= BigInt(from) && id < BigInt(to));
  return BigInt(from) > 0n && BigInt(from) <= BigInt(to) && isGrowing && isInside;
}

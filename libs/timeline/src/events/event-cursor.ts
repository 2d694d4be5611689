/**
 * A reader's position in an organization's events. Transactions become visible in an order that no number can express,
 * so a cursor is a Postgres snapshot: everything that is visible in it was read. If a page ends in the middle of the
 * rows of a later snapshot, the cursor also contains that snapshot and the last row that was read.
 */
export interface EventCursor {
  /** Time of the snapshot by the database's clock, in unix milliseconds. */
  at: number;
  /** The snapshot in the notation of Postgres, such as `745:749:745,746`. */
  snapshot: string;
  within?: { upto: string; last: EventKey };
}

/** Identifies a row and defines the order: agent and number for a timeline entry, otherwise the event's id. */
interface EventKey {
  transactionId: number;
  thing: string;
  seq: number;
}

/** Formats a cursor as the id of an event. Readers store the id and send it back. */
export function writeCursor({ at, snapshot, within }: EventCursor): string {
  const { upto, last } = within ?? {};
  const parts = [String(at), short(snapshot)];
  if (upto && last) parts.push(short(upto), String(last.transactionId), last.thing, String(last.seq));
  return parts.join('_');
}

/** Parses the id of an event; returns null if it is not valid. */
export function readCursor(text: string): EventCursor | null {
  const found = pattern.exec(text)?.groups;
  if (!found) return null;
  const { at, snapshot, upto, transaction, thing, seq } = found;
  const cursor = { at: Number(at), snapshot: long(snapshot!) };
  if (!isSnapshot(cursor.snapshot)) return null;
  if (upto === undefined) return cursor;
  const last = { transactionId: Number(transaction), thing: thing!, seq: Number(seq) };
  return isSnapshot(long(upto)) ? { ...cursor, within: { upto: long(upto), last } } : null;
}

/** Returns the first transaction id that was not assigned yet (xmax of the snapshot). */
export function endOf(snapshot: string): bigint {
  return BigInt(snapshot.split(':')[1]!);
}

const snapshotPattern = String.raw`\d{1,18}\.\d{1,18}\.(?:\d{1,18}(?:-\d{1,18})*)?`;
const key = String.raw`(?<transaction>\d{1,15})_(?<thing>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_(?<seq>\d{1,15})`;
const pattern = new RegExp(
  `^(?<at>\\d{1,15})_(?<snapshot>${snapshotPattern})(?:_(?<upto>${snapshotPattern})_${key})?$`,
);

const short = (text: string) => text.replaceAll(':', '.').replaceAll(',', '-');
const long = (text: string) => text.replaceAll('.', ':').replaceAll('-', ',');

/** Whether Postgres accepts the snapshot; any other text would make the query fail. */
function isSnapshot(text: string): boolean {
  const [from, to, running] = text.split(':') as [string, string, string];
  const open = running === '' ? [] : running.split(',').map(BigInt);
  const isGrowing = open.every((id, at) => at === 0 || open[at - 1]! < id);
  const isInside = open.every((id) => id >= BigInt(from) && id < BigInt(to));
  return BigInt(from) > 0n && BigInt(from) <= BigInt(to) && isGrowing && isInside;
}

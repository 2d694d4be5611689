/**
 * How far somebody has read an organization's events. Rows of many transactions become visible in no order that a
 * number could have, so a place is a snapshot: everything that was visible in it is read. Where a page ended within what
 * another snapshot shows, the place says that one too, and the last row of it.
 */
export interface EventPlace {
  /** When it was so, by the database's clock, in milliseconds. */
  at: number;
  /** As Postgres writes one: `745:749:745,746`. */
  seen: string;
  within?: { upto: string; last: EventKey };
}

/** What tells a row from others, and their order: of a timeline the agent and its number, else the event. */
interface EventKey {
  transactionId: number;
  thing: string;
  seq: number;
}

/** As an event's id; readers keep it and send it back. */
export function writePlace({ at, seen, within }: EventPlace): string {
  const { upto, last } = within ?? {};
  const parts = [String(at), short(seen)];
  if (upto && last) parts.push(short(upto), String(last.transactionId), last.thing, String(last.seq));
  return parts.join('_');
}

/** Null where it is no id of ours. */
export function readPlace(text: string): EventPlace | null {
  const found = pattern.exec(text)?.groups;
  if (!found) return null;
  const { at, seen, upto, transaction, thing, seq } = found;
  const place = { at: Number(at), seen: long(seen!) };
  if (!isSnapshot(place.seen)) return null;
  if (upto === undefined) return place;
  const last = { transactionId: Number(transaction), thing: thing!, seq: Number(seq) };
  return isSnapshot(long(upto)) ? { ...place, within: { upto: long(upto), last } } : null;
}

/** The first transaction that had not begun. */
export function endOf(snapshot: string): bigint {
  return BigInt(snapshot.split(':')[1]!);
}

const snapshot = String.raw`\d{1,18}\.\d{1,18}\.(?:\d{1,18}(?:-\d{1,18})*)?`;
const key = String.raw`(?<transaction>\d{1,15})_(?<thing>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_(?<seq>\d{1,15})`;
const pattern = new RegExp(`^(?<at>\\d{1,15})_(?<seen>${snapshot})(?:_(?<upto>${snapshot})_${key})?$`);

const short = (text: string) => text.replaceAll(':', '.').replaceAll(',', '-');
const long = (text: string) => text.replaceAll('.', ':').replaceAll('-', ',');

/** Postgres would refuse another one. */
function isSnapshot(text: string): boolean {
  const [from, to, running] = text.split(':') as [string, string, string];
  const open = running === '' ? [] : running.split(',').map(BigInt);
  const isGrowing = open.every((id, at) => at === 0 || open[at - 1]! < id);
  const isInside = open.every((id) => id >= BigInt(from) && id < BigInt(to));
  return BigInt(from) > 0n && BigInt(from) <= BigInt(to) && isGrowing && isInside;
}

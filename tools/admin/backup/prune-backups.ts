import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AdminError, UsageError } from '../admin-error';
import type { Place } from '../place/place';
import { type ListedBackup, listBackups, paths, readSavedUntil } from './manifest';
import { readTextLines } from './save-objects';

export type Keep = Partial<Record<Period, number>>;
type Period = 'last' | 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly';

/** Maps a time to a text that is the same for all times within one period. */
const periods: Record<Period, (at: Date) => string> = {
  last: (at) => at.toISOString(),
  hourly: (at) => at.toISOString().slice(0, 13),
  daily: (at) => at.toISOString().slice(0, 10),
  weekly: (at) => String(Math.floor((at.getTime() / 86_400_000 + 3) / 7)),
  monthly: (at) => at.toISOString().slice(0, 7),
  yearly: (at) => at.toISOString().slice(0, 4),
};

/** Parses rules such as `daily=7,weekly=4`. */
export function parseKeepRule(text: string): Keep {
  const keep: Keep = {};
  for (const part of text.split(',')) {
    const [, period, count] = /^(\w+)=(\d+)$/.exec(part.trim()) ?? [];
    if (!period || !(period in periods))
      throw new UsageError(
        `"${part}" is not a valid --keep rule; use ${Object.keys(periods).join(', ')}, as in daily=7,weekly=4.`,
      );
    keep[period as Period] = Number(count);
  }
  return keep;
}

/** Returns the newest backup of each of the newest `count` days, weeks and so on. */
export function selectRetainedTimes(takenAt: Date[], keep: Keep): Set<Date> {
  const retained = new Set<Date>();
  const newestFirst = takenAt.toSorted((left, right) => right.getTime() - left.getTime());
  for (const [period, count] of Object.entries(keep) as [Period, number][]) {
    const seen = new Set<string>();
    for (const at of newestFirst) {
      const name = periods[period](at);
      if (seen.has(name)) continue;
      if (seen.size === count) break;
      seen.add(name);
      retained.add(at);
    }
  }
  return retained;
}

const partialForMs = 24 * 3_600_000;

/**
 * Removes the backups that no rule retains, interrupted backups older than a day, and objects that no remaining backup
 * refers to.
 */
export async function pruneBackups(
  place: Place,
  { keep, now }: { keep: Keep; now: Date },
): Promise<{ removed: string[]; retained: string[]; objects: number }> {
  const all = await listBackups(place);
  const times = new Map<ListedBackup, Date>();
  for (const each of all) if (each.manifest) times.set(each, await readSavedUntil(place, each.manifest));
  const retainedTimes = selectRetainedTimes([...times.values()], keep);
  if (times.size > 0 && retainedTimes.size === 0)
    throw new AdminError('These rules would remove every backup; nothing was removed.');
  const damaged = all.filter(({ fault }) => fault);
  if (damaged.length > 0) throw new AdminError(`${damaged[0]!.fault} Remove its folder first; nothing was removed.`);
  const isOldBackup = ({ id }: ListedBackup) => now.getTime() - parseBackupTime(id) > partialForMs;
  const isRetainedBackup = (each: ListedBackup) =>
    each.manifest ? retainedTimes.has(times.get(each)!) : !isOldBackup(each);
  const removed = all.filter((each) => !isRetainedBackup(each));
  for (const { id } of removed) {
    // The manifest is removed first: if the removal is interrupted, the backup counts as incomplete.
    await place.remove(paths.manifest(id));
    for await (const path of place.list(`backups/${id}/`)) await place.remove(path);
  }
  const retained = all.filter(isRetainedBackup);
  // A backup in progress may refer to objects that it has not listed yet, so no object is removed while one exists.
  const objects = retained.every(({ manifest }) => manifest) ? await removeUnnamedFiles(place, retained) : 0;
  return { removed: removed.map(({ id }) => id), retained: retained.map(({ id }) => id), objects };
}

async function removeUnnamedFiles(place: Place, retained: ListedBackup[]): Promise<number> {
  const named = new Set<string>();
  for (const { id } of retained) {
    const packed = await place.read(paths.objectNames(id));
    if (!packed)
      throw new AdminError(`The file ${paths.objectNames(id)} is missing in ${place.name}; no object was removed.`);
    const addNames = async (file: Readable) => {
      for (const name of await readTextLines(pipeline(file, createGunzip(), () => undefined)))
        named.add(paths.object(name));
    };
    await addNames(packed);
    for await (const path of place.list(`backups/${id}/objects/`))
      if (path.endsWith('.txt.gz')) await addNames((await place.read(path))!);
  }
  let count = 0;
  for await (const path of place.list('objects/')) {
    if (named.has(path)) continue;
    await place.remove(path);
    count += 1;
  }
  return count;
}

/** Returns the time at which a backup was begun, in milliseconds. */
export function parseBackupTime(id: string): number {
  return Date.parse(id.replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));
}

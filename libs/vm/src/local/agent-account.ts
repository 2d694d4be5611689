import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '@muster/platform';

/** User ids that no distribution assigns. The second range is for a container that maps only the usual 65,536 ids. */
const ranges = [
  { first: 1_900_000_000, count: 200_000_000 },
  { first: 20_000, count: 39_000 },
];

/** Returns the id of the user that an agent's machine runs as. Assigns an id that is free in this folder if needed. */
export async function assignAccount(root: string, agentId: string): Promise<number> {
  const assigned = readAccount(root, agentId);
  if (assigned) return assigned;
  const assignedIds = new Set(
    readdirSync(root)
      .filter(isUuid)
      .map((id) => readAccount(root, id)),
  );
  const { first, count } = ranges.find((range) => isMappedUid(range.first + range.count - 1)) ?? ranges[1]!;
  // The first candidate is derived from the agent's id, so that agents of two folders on one computer rarely get the
  // same user id.
  let uid = first + (createHash('sha256').update(agentId).digest().readUInt32BE() % count);
  while (assignedIds.has(uid)) uid = uid + 1 < first + count ? uid + 1 : first;
  await writeFile(getAccountFile(root, agentId), `${uid}\n`, { mode: 0o600 });
  return uid;
}

/** Returns the user id that the agent was assigned; null if it has none. */
export function readAccount(root: string, agentId: string): number | null {
  try {
    return Number(readFileSync(getAccountFile(root, agentId), 'utf8')) || null;
  } catch {
    return null;
  }
}

function getAccountFile(root: string, agentId: string): string {
  return join(root, agentId, 'account');
}

function isMappedUid(uid: number): boolean {
  return readFileSync('/proc/self/uid_map', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([inside, , count]) => uid >= inside! && uid < inside! + count!);
}

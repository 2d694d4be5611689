import type { Database } from '@muster/database';
import { computeLinkHash } from './link-rows';
import { type ChainedRow, matchesStoredDigest, type LogName, logTitles } from './presented-rows';

/** Maximum number of faults that are named for a day; more are only counted. */
const maxNamed = 50;

interface Link {
  seq: number;
  ids: string[];
  digests: Buffer;
  hash: Buffer;
}

export interface OpenDayCheck {
  /** Adds a row to the check; called with each row of the day. */
  add: (row: ChainedRow) => void;
  /** Returns the faults that the check has found, as sentences. */
  faults: () => string[];
}

/**
 * Compares the rows of an open day with their digests and with the chain of the day. Reads the chain first, because
 * rows may be added to both while the check runs.
 */
export async function checkRowsOfOpenDay(
  database: Database,
  { log, day, organizationId }: { log: LogName; day: string; organizationId: string },
): Promise<OpenDayCheck> {
  const links = await database.query<Link>(
    'system',
    `SELECT seq, ids, digests, hash FROM audit_link WHERE organization_id = $1 AND log = $2 AND day = $3 ORDER BY seq`,
    [organizationId, log, day],
  );
  const [chain] = await database.query<{ hasDigests: boolean }>(
    'system',
    'SELECT digests_from <= $1 AS has_digests FROM audit_chain',
    [new Date(`${day}T00:00:00Z`)],
  );
  const digests = new Map<string, Buffer | null>();
  const faults: string[] = [];
  return {
    add: (row) => {
      digests.set(row.id, row.digest);
      if (row.digest === null) {
        if (chain!.hasDigests) faults.push(`row ${row.id} was added, but not by the service`);
      } else if (!matchesStoredDigest(log, organizationId, row)) faults.push(`row ${row.id} was changed`);
    },
    faults: () => {
      const all = [...new Set([...faults, ...findLinkFaults(links, digests)])];
      const named = all.slice(0, maxNamed);
      if (all.length > maxNamed) named.push(`${all.length - maxNamed} more rows were changed, removed or added`);
      return named.map((fault) => `${logTitles[log]}: ${fault}`);
    },
  };
}

function findLinkFaults(links: Link[], digests: ReadonlyMap<string, Buffer | null>): string[] {
  const faults: string[] = [];
  let previous: Buffer | null = null;
  for (const [place, link] of links.entries()) {
    const isWhole =
      link.seq === place + 1 &&
      link.digests.length === link.ids.length * 32 &&
      computeLinkHash(previous, link.ids, link.digests).equals(link.hash);
    if (!isWhole) return [...faults, `the chain of the open day is broken at link ${place + 1}`];
    for (const [at, id] of link.ids.entries()) {
      const digest = digests.get(id);
      if (digest === undefined) faults.push(`row ${id} is missing`);
      else if (!digest?.equals(link.digests.subarray(at * 32, at * 32 + 32))) faults.push(`row ${id} was changed`);
    }
    previous = link.hash;
  }
  return faults;
}

import type { Round } from './round';

const batchSize = 1000;

/**
 * Deletes rows that are not needed any more, one batch of each table in turn, until no table has any left or the
 * round's time is up. A table that fails is reported under its name, and the others continue.
 */
export async function purgeTables<Name extends string>(
  round: Round,
  tables: Record<Name, (limit: number) => Promise<number>>,
  limit = batchSize,
): Promise<Record<Name, number>> {
  const names = Object.keys(tables) as Name[];
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  const left = new Set(names);
  while (left.size > 0 && round.hasTime) {
    for (const name of left) {
      try {
        const dropped = await tables[name](limit);
        counts[name] += dropped;
        if (dropped < limit) left.delete(name);
      } catch (error) {
        round.recordFailure(name, error);
        left.delete(name);
      }
    }
  }
  return counts;
}

import type { Round } from './round';

const piece = 1000;

/**
 * Drops what nobody needs any more, table by table and piece by piece, each in turn, until nothing is left of any or the
 * round's time is up. What fails is told under its name and leaves the others alone.
 */
export async function purge<Name extends string>(
  round: Round,
  tables: Record<Name, (limit: number) => Promise<number>>,
  limit = piece,
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
        round.fail(name, error);
        left.delete(name);
      }
    }
  }
  return counts;
}

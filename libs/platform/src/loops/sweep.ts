import type { Round } from './round';

export interface Sweep<C, Outcome extends string> {
  /** Names it within its round. */
  name: string;
  /** All that may become of one. */
  outcomes: readonly Outcome[];
  /** The next candidates in an order that each has a place of its own in; null is the beginning. */
  candidates(after: C | null, limit: number): Promise<C[]>;
  /** Locks one, looks again, decides, acts; answers what became of it, or null where nothing did. */
  settle(candidate: C): Promise<Outcome | null>;
  /** For people: `agent 0192…`. */
  rowOf(candidate: C): string;
  limit?: number;
  /** How many are settled at the same time. */
  atOnce?: number;
}

export type SweepCounts<Outcome extends string> = Record<Outcome | 'looked', number>;

/**
 * The one shape of a maintenance loop over rows: candidates page by page, each settled by itself, a failure told and
 * passed over, until there are no more or the round's time is up. Then the next round goes on from there, so that no
 * number of rows that cannot be settled hides those behind them.
 */
export async function sweep<C, Outcome extends string>(
  round: Round,
  { name, outcomes, candidates, settle, rowOf, limit = 200, atOnce = 1 }: Sweep<C, Outcome>,
): Promise<SweepCounts<Outcome>> {
  const counts: Record<string, number> = { looked: 0 };
  for (const outcome of outcomes) counts[outcome] = 0;
  let after = (round.places.get(name) as C | undefined) ?? null;
  round.places.delete(name);
  for (;;) {
    const page = await candidates(after, limit);
    const waiting = [...page];
    const work = async () => {
      for (let one = round.hasTime && waiting.shift(); one; one = round.hasTime && waiting.shift()) {
        counts['looked']! += 1;
        try {
          const outcome = await settle(one);
          if (outcome !== null) counts[outcome]! += 1;
        } catch (error) {
          round.fail(rowOf(one), error);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    if (waiting.length > 0) {
      // Behind the last that was begun; where none was, from where this round began.
      after = page.length > waiting.length ? page[page.length - waiting.length - 1]! : after;
      if (after !== null) round.places.set(name, after);
      break;
    }
    if (page.length < limit) break;
    after = page.at(-1)!;
  }
  return counts as SweepCounts<Outcome>;
}

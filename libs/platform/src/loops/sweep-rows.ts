import { nilId } from '../context/ids';
import type { Round } from './round';

export interface Sweep<C, Outcome extends string> {
  /** Name of the sweep, which is unique within its round. */
  name: string;
  /** All outcomes that a processed candidate can have; each is counted. */
  outcomes: readonly Outcome[];
  /** Returns the next candidates in a strict order, starting after `after`; null starts from the beginning. */
  candidates(after: C | null, limit: number): Promise<C[]>;
  /** Locks a candidate, checks it again, decides and acts. Returns the outcome, or null if nothing was done. */
  settle(candidate: C): Promise<Outcome | null>;
  /** Returns a readable name of the candidate, such as `agent 0192…`. */
  rowOf(candidate: C): string;
  limit?: number;
  /** Number of candidates that are processed at the same time. */
  atOnce?: number;
}

/** Cursor of a sweep in the order of a time and the id. */
export interface TimedCursor {
  id: string;
  /**
   * The time is read as text with microseconds, because a Date has only milliseconds. Many rows can share their
   * millisecond.
   */
  at: string;
}

export const firstCursor: TimedCursor = { id: nilId, at: '-infinity' };

export type SweepCounts<Outcome extends string> = Record<Outcome | 'looked', number>;

/**
 * Processes candidate rows page by page until none are left or the round's time budget is used up. A failing row is
 * reported and skipped. A sweep that runs out of time saves its cursor in the round, and the next round resumes there,
 * so failing rows never block the rows after them.
 */
export async function sweepRows<C, Outcome extends string>(
  round: Round,
  { name, outcomes, candidates, settle, rowOf, limit = 200, atOnce = 1 }: Sweep<C, Outcome>,
): Promise<SweepCounts<Outcome>> {
  const counts: Record<string, number> = { looked: 0 };
  for (const outcome of outcomes) counts[outcome] = 0;
  let after = (round.cursors.get(name) as C | undefined) ?? null;
  round.cursors.delete(name);
  for (;;) {
    const page = await candidates(after, limit);
    const waiting = [...page];
    const processWaitingRows = async () => {
      for (let one = round.hasTime && waiting.shift(); one; one = round.hasTime && waiting.shift()) {
        counts['looked']! += 1;
        try {
          const outcome = await settle(one);
          if (outcome !== null) counts[outcome]! += 1;
        } catch (error) {
          round.recordFailure(rowOf(one), error);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, processWaitingRows));
    if (waiting.length > 0) {
      // The next round resumes after the last candidate that was started. If none was started, it resumes where this
      // round did.
      after = page.length > waiting.length ? page[page.length - waiting.length - 1]! : after;
      if (after !== null) round.cursors.set(name, after);
      break;
    }
    if (page.length < limit) break;
    after = page.at(-1)!;
  }
  return counts as SweepCounts<Outcome>;
}

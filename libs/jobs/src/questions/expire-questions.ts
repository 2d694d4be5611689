import type { Database, QuestionEntity } from '@muster/database';
import { Round, sweepRows, type SweepCounts } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { expireQuestion } from './answer-question';

type Due = Pick<QuestionEntity, 'id' | 'organizationId'> & { at: string };

/** Expires the open questions whose time has passed. */
export function expireQuestions(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  round = new Round('expire questions'),
): Promise<SweepCounts<'expired'>> {
  return sweepRows(round, {
    name: 'questions',
    outcomes: ['expired'],
    atOnce: 8,
    candidates: (after: Due | null, limit) =>
      database.query<Due & object>(
        'system',
        `SELECT id, organization_id, expires_at::text AS at FROM question
         WHERE status = 'open' AND expires_at <= muster_now()
           AND ($1::timestamptz IS NULL OR (expires_at, id) > ($1::timestamptz, $2::uuid))
         ORDER BY expires_at, id LIMIT $3`,
        [after?.at ?? null, after?.id ?? null, limit],
        'due_questions',
      ),
    settle: async (due) => {
      const { organizationId } = due;
      const expired = await database.transaction({ organizationId }, (tx) => expireQuestion(tx, keyRing, due));
      return expired ? 'expired' : null;
    },
    rowOf: ({ id }) => `question ${id}`,
  });
}

import type { Database } from '@muster/database';
import { purgeTables, type Round } from '@muster/platform';
import { habitDays } from './learn-idle-habits';

/** Deletes idle times that are too old to be learned from or reported. */
export function purgeIdleTimes(database: Database, round: Round): Promise<{ idleTimes: number }> {
  const deleteIdleTimes = (limit: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM agent_idle WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM agent_idle WHERE ended_at < muster_now() - interval '${habitDays} days' LIMIT $1))`,
        [limit],
        'purge_idle',
      ),
    );
  return purgeTables(round, { idleTimes: deleteIdleTimes });
}

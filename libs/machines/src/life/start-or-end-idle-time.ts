import type { Transaction } from '@muster/database';
import { runEnded } from '../activity/activity';

/**
 * Records in the open idle time that the machine was switched on or off. If the last activity was not the end of a run,
 * both policies wait equally long. In that case, switching off also sets the policy of the idle time, so that no saving
 * is computed for it later.
 */
export function startOrEndIdleTime(tx: Transaction, agentId: string, isOn: boolean): void {
  tx.deferStatement(
    isOn
      ? `UPDATE agent_idle SET on_since = muster_now() WHERE agent_id = $1 AND ended_at IS NULL AND on_since IS NULL`
      : `UPDATE agent_idle i
         SET on_ms = i.on_ms + GREATEST(0, extract(epoch FROM muster_now() - i.on_since) * 1000), on_since = NULL,
           policy = CASE WHEN a.last_activity = '${runEnded}' THEN i.policy ELSE s.idle_stop_policy END
         FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id
         WHERE a.id = $1 AND i.agent_id = a.id AND i.ended_at IS NULL AND i.on_since IS NOT NULL`,
    [agentId],
    isOn ? 'idle_on' : 'idle_off',
  );
}

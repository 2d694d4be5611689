import type { Transaction } from '@muster/database';

/** For a move of its life: from now on its machine is on, or no more, while it has nothing to do. */
export function switchIdle(tx: Transaction, agentId: string, isOn: boolean): void {
  tx.defer(
    isOn
      ? `UPDATE agent_idle SET on_since = now() WHERE agent_id = $1 AND ended_at IS NULL AND on_since IS NULL`
      : `UPDATE agent_idle SET on_ms = on_ms + GREATEST(0, extract(epoch FROM now() - on_since) * 1000), on_since = NULL
         WHERE agent_id = $1 AND ended_at IS NULL AND on_since IS NOT NULL`,
    [agentId],
    isOn ? 'idle_on' : 'idle_off',
  );
}

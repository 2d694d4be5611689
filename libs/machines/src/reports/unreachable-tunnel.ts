import type { AgentEntity, Database, Transaction } from '@muster/database';

interface UsedTunnel extends Pick<AgentEntity, 'organizationId' | 'bootId'> {
  agentId: AgentEntity['id'];
  tunnelUrl: string | null;
}

/**
 * Records that no worker is connected to the tunnel, so that the tunnel is not used again until the agent's next boot.
 * Changes nothing if the agent has another boot or another tunnel now.
 */
export async function markTunnelUnreachable(
  database: Database,
  { organizationId, agentId, tunnelUrl, bootId }: UsedTunnel,
): Promise<void> {
  await database.query(
    { organizationId },
    `UPDATE agent SET unreachable_tunnel = $3
     WHERE id = $1 AND organization_id = $2 AND boot_id IS NOT DISTINCT FROM $4
       AND COALESCE(public_tunnel_url, tunnel_url) = $3`,
    [agentId, organizationId, tunnelUrl, bootId],
    'tunnel_unreachable',
  );
}

/** Makes the agent's tunnel usable again, even if no worker was connected to it before. */
export async function retryUnreachableTunnel(tx: Transaction, agentId: string): Promise<void> {
  await tx.execute(
    `UPDATE agent SET public_tunnel_url = COALESCE(public_tunnel_url, tunnel_url), unreachable_tunnel = NULL
     WHERE id = $1`,
    [agentId],
  );
}

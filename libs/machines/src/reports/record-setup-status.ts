import type { SetupStatusBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { loadAgent } from '../registry/agent-row';
import { appendTimeline } from '@muster/timeline';
import { machineRefusedError } from '../registry/machine-caller';
import { parseTunnelUrl } from './tunnel-url';

/** Records a machine's installation progress on the agent's timeline. */
export async function recordSetupStatus(
  tx: Transaction,
  organizationId: string,
  body: SetupStatusBody,
  from: string,
): Promise<void> {
  const { agentId, phase, status, message } = body;
  const agent = await loadAgent(tx, organizationId, agentId);
  if (agent.status === 'terminated')
    throw machineRefusedError(
      'The agent is terminated. Stop this worker, or install it for another agent.',
      agent.status,
    );
  const tunnelUrl = parseTunnelUrl(body.tunnelUrl, 'tunnelUrl');
  if (tunnelUrl) {
    await tx.execute(
      `UPDATE agent SET tunnel_url = $3, public_tunnel_url = $3, tunnel_hostname = $4, seen_from = $5
       WHERE id = $1 AND organization_id = $2`,
      [agentId, organizationId, tunnelUrl, body.tunnelUrl, from],
    );
  }
  appendTimeline(tx, { organizationId, agentId }, [
    {
      kind: 'provisioning',
      source: 'handshake',
      level: /fail|error/i.test(status) ? 'error' : 'info',
      message: message ? `${phase}: ${status}: ${message}` : `${phase}: ${status}`,
      data: { phase, status, ...(tunnelUrl ? { tunnelUrl } : {}) },
    },
  ]);
}

import type { AgentStatus, HandshakeBody } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { type AgentRow, loadAgent } from '../registry/agent-row';
import { agentMoves, getOnStatus } from '../life/agent-life';
import { setAgentStatus } from '../life/set-agent-status';
import { appendEndedBootSql } from '../life/ended-boots';
import { completeLateWake, completeWake } from '../life/wakes';
import { appendTimeline } from '@muster/timeline';
import { machineRefusedError } from '../registry/machine-caller';
import { parseTunnelUrl } from './tunnel-url';

const welcome: readonly AgentStatus[] = agentMoves.boot.from;

/**
 * A function that is called in the same transaction if the machine can take commands now. `sameBoot` is whether the
 * same boot of the machine has reported before.
 */
export type OnReachable = (tx: Transaction, agentRef: AgentRef, boot: { sameBoot: boolean }) => Promise<void>;

interface AgentRef {
  organizationId: string;
  agentId: string;
}

/** Records the handshake of a booted machine. Returns the agent's status. */
export async function recordHandshake(
  tx: Transaction,
  organizationId: string,
  body: HandshakeBody,
  /** The address from which the request came, and the base URL at which it reached the service. */
  { from, serviceUrl }: { from?: string; serviceUrl?: string },
  onReachable: OnReachable,
): Promise<{ status: AgentStatus }> {
  const { agentId, bootId, workerVersion, hostname, platform, capabilities, machineCapabilities = null } = body;
  const agentRef = { organizationId, agentId };
  const agent = await loadAgent(tx, organizationId, agentId, 'lock');
  if (!welcome.includes(agent.status)) throw machineRefusedError(`The agent is ${agent.status}.`, agent.status);
  await requireCurrentBoot(tx, agent, bootId);
  const [before] = await tx.query<Pick<AgentEntity, 'bootId'>>(
    `UPDATE agent SET
       boot_id = $3, worker_version = $4, last_seen = muster_now(), last_activity_at = muster_now(),
       last_activity = 'its handshake', unhealthy_checks = 0,
       clearing_command_id = CASE WHEN was.boot_id = $3 THEN agent.clearing_command_id END,
       ended_boots = CASE WHEN was.boot_id = $3 THEN agent.ended_boots ELSE ${appendEndedBootSql('agent', 'was.boot_id')} END,
       tunnel_url = CASE WHEN $7 THEN NULL ELSE COALESCE($5, agent.tunnel_url) END,
       public_tunnel_url = CASE WHEN $7 THEN NULL ELSE COALESCE($5, agent.public_tunnel_url) END,
       tunnel_hostname = CASE WHEN $7 THEN NULL ELSE COALESCE($6, agent.tunnel_hostname) END, vm_state = 'running',
       seen_from = $8, service_url = $9, unreachable_tunnel = NULL,
       capabilities = $10
     FROM agent AS was
     WHERE was.id = agent.id AND agent.id = $1 AND agent.organization_id = $2
     RETURNING was.boot_id`,
    [
      agentId,
      organizationId,
      bootId,
      workerVersion,
      parseTunnelUrl(body.tunnelHostname),
      body.tunnelHostname ?? null,
      // A field with an explicit null means that the worker has no tunnel and polls. An absent field changes nothing.
      body.tunnelHostname === null,
      from ?? null,
      serviceUrl ?? null,
      machineCapabilities && JSON.stringify(machineCapabilities),
    ],
    'handshake',
  );
  const sameBoot = before!.bootId === bootId;
  // The same boot reports, so the machine has not rebooted yet. Only the handshake of another boot ends the reboot.
  if (agent.status === 'rebooting' && sameBoot) return { status: agent.status };
  const status = getOnStatus(agent);
  appendTimeline(tx, agentRef, [
    {
      kind: 'provisioning',
      source: 'handshake',
      message: `worker ${workerVersion} shook hands${hostname ? ` from ${hostname}` : ''}`,
      data: { bootId, hostname, platform, capabilities, machineCapabilities, workerVersion },
    },
  ]);
  if (agent.status !== status || !sameBoot) {
    const reason = sameBoot ? 'the worker reported again' : 'the worker reported after its boot';
    await setAgentStatus(tx, { ...agentRef, move: 'boot', to: status, source: 'handshake', reason });
  }
  await completeWake(tx, agentRef);
  if (agent.status === 'offline' && !sameBoot) await completeLateWake(tx, agentRef);
  await onReachable(tx, agentRef, { sameBoot });
  return { status };
}

/**
 * Throws if the boot has ended. Its worker must handshake again with a new boot id, or exit if a newer boot has
 * replaced it.
 */
async function requireCurrentBoot(tx: Transaction, { id, status }: AgentRow, bootId: string): Promise<void> {
  const [over] = await tx.query<{ isLatest: boolean }>(
    'SELECT boot_id = $2 AS is_latest FROM agent WHERE id = $1 AND $2 = ANY(ended_boots)',
    [id, bootId],
    'ended_boot',
  );
  if (!over) return;
  throw over.isLatest
    ? machineRefusedError(
        'This boot id is no longer valid because the service stopped or rebooted the machine. Handshake again with ' +
          'a new boot id.',
        status,
        'ended',
      )
    : machineRefusedError(
        'This boot id is no longer valid because another boot of this agent has sent a handshake since. Stop this ' +
          'worker.',
        status,
        'superseded',
      );
}

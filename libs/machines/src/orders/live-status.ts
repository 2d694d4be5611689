import { agentNotFoundError } from '@muster/contracts';
import type { AgentEntity } from '@muster/database';
import { describeMachineWithinLimit, machineColumns, toProviderMachine, type MachineRow } from './machine-of';
import type { MachineParts } from './wake-machine';

export interface LiveStatus extends Pick<
  AgentEntity,
  'status' | 'lastSeen' | 'lastActivityAt' | 'publicTunnelUrl' | 'vmState' | 'vmIp'
> {
  stale: boolean;
}

/** Time limit for the provider's answer in milliseconds (interface, section 8). */
const guardMs = 3000;

/**
 * Returns the agent's current status and the machine's state from its provider. If the provider does not answer,
 * returns the last known state of the machine.
 */
export async function readLiveStatus(
  { database, machines, keyRing, clock }: MachineParts,
  organizationId: string,
  id: string,
): Promise<LiveStatus> {
  const [row] = await database.query<MachineRow & Omit<LiveStatus, 'stale'>>(
    { organizationId },
    `SELECT ${machineColumns}, a.last_seen, a.last_activity_at, a.public_tunnel_url, a.vm_state, a.vm_ip
     FROM agent a WHERE a.id = $1 AND a.organization_id = $2`,
    [id, organizationId],
    'live_status',
  );
  if (!row) throw agentNotFoundError();
  const found = await describeMachineWithinLimit(
    machines.get(row.provider),
    toProviderMachine(row, keyRing, clock),
    guardMs,
  );
  const { status, lastSeen, lastActivityAt, publicTunnelUrl } = row;
  const known = found !== null && found.state !== 'unknown';
  return {
    status,
    lastSeen,
    lastActivityAt,
    publicTunnelUrl,
    vmState: known ? found.state : row.vmState,
    vmIp: known ? (found.ip ?? (found.state === 'running' ? row.vmIp : null)) : row.vmIp,
    stale: found === null,
  };
}

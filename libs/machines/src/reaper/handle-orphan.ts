import type { AgentProvider } from '@muster/contracts';
import { type AgentEntity, type Database, type Transaction, tryAdvisoryLock } from '@muster/database';
import { isUuid } from '@muster/platform';
import type { ListedMachine, Machine, MachineProvider } from '@muster/vm';
import { Logger } from '@nestjs/common';
import { appendTimeline } from '@muster/timeline';
import { findOrphanReason, type Finding, isConfirmedFinding } from './decide-machines';
import { isMachineOfAgent, type MachineLocation, runWithinLimit } from './survey-location';

export interface OrphanLimits {
  confirmMs: number;
  stops: boolean;
  signal: AbortSignal;
}

type Step = 'not ours' | 'owned' | 'known' | 'found' | 'stop';

interface Claimed extends Pick<AgentEntity, 'organizationId' | 'status'> {
  ending: boolean;
}

const stopLimitMs = 30_000;
const logger = new Logger('reaper');

/** Handles one machine that seems to belong to no agent. If the finding is confirmed, stops the machine. */
export async function handleOrphan(
  database: Database,
  provider: MachineProvider,
  { location, found }: { location: MachineLocation; found: ListedMachine },
  limits: OrphanLimits,
): Promise<Step | 'stopped' | 'failed'> {
  const decided = await database.transaction('system', (tx) =>
    decideOrphanStep(tx, { location, found }, provider, limits),
  );
  if (decided.step !== 'stop') return decided.step;
  const { owner, reason } = decided;
  const subject = `${location.provider} machine ${found.ref}`;
  try {
    await runWithinLimit(limits.signal, stopLimitMs, provider.stop(toMachineOfOrphan(location.asking, found)));
  } catch (error) {
    const message = (error as Error).message;
    logger.error(`could not stop ${subject} (${reason}): ${message}`);
    await database.transaction('system', async (tx) => {
      await tx.execute(`UPDATE machine_finding SET acted_at = NULL ${whereOrphan}`, getFindingKey(location, found));
      recordOnTimeline(
        tx,
        owner,
        'error',
        `the machine ${found.ref}, which no agent owns, could not be stopped: ${message}`,
      );
    });
    return 'failed';
  }
  logger.warn(`stopped ${subject}: ${reason}`);
  await database.transaction('system', (tx) => {
    recordOnTimeline(tx, owner, 'warn', `the machine ${found.ref} was stopped: ${reason}`);
    return Promise.resolve();
  });
  return 'stopped';
}

interface Owner {
  organizationId: string;
  agentId: string;
}

const whereOrphan = `WHERE kind = 'orphan' AND provider = $1 AND place = $2 AND ref = $3`;

/** Decides about the machine under a lock, so that only one replica at a time does, and with the current rows. */
async function decideOrphanStep(
  tx: Transaction,
  { location, found }: { location: MachineLocation; found: ListedMachine },
  provider: MachineProvider,
  { confirmMs, stops }: OrphanLimits,
): Promise<{ step: Step; reason: string; owner: Owner | null }> {
  const none = { reason: '', owner: null };
  if (!(await tryAdvisoryLock(tx, 'reaper', location.provider, location.name, found.ref)))
    return { step: 'known', ...none };
  if (provider.isShared && !(await hasOrganizationTag(tx, found))) return { step: 'not ours', ...none };
  const agentId = found.agentId && isUuid(found.agentId) ? found.agentId : null;
  const rows = await tx.query<Claimed & Pick<Machine, 'agentId' | 'providerRef' | 'providerConfig'>>(
    `SELECT a.id AS agent_id, a.organization_id, a.status, a.provider_ref, a.provider_config,
            EXISTS (SELECT FROM agent_control c WHERE c.agent_id = a.id AND a.status = 'terminated') AS ending
     FROM agent a WHERE a.provider = $1 AND (a.id = $2 OR a.provider_ref = ANY($3))`,
    [location.provider as AgentProvider, agentId, [found.ref, ...(found.id ? listContainerNames(found.id) : [])]],
    'reaper_owner',
  );
  const isAtLocation = (row: Claimed & Pick<Machine, 'agentId' | 'providerRef' | 'providerConfig'>) =>
    provider.getLocation!({ ...row, sign: location.asking.sign }) === location.name;
  const isOwned = rows.some(
    (row) => row.status !== 'terminated' && isMachineOfAgent(provider, found, row) && isAtLocation(row),
  );
  const isClaimedByRow = (row: Claimed) => !provider.isShared || row.organizationId === found.organizationId;
  const claimed = rows.find((row) => row.agentId === agentId && isClaimedByRow(row)) ?? null;
  const [clock] = await tx.query<{ now: Date }>('SELECT muster_clock() AS now');
  const { now } = clock!;
  const reason = findOrphanReason(found, { isOwned, claimed }, now);
  const key = getFindingKey(location, found);
  if (!reason) {
    await tx.execute(`DELETE FROM machine_finding ${whereOrphan}`, key);
    return { step: 'owned', ...none };
  }
  // A machine at a location of one organization can carry the tag of another organization's agent. That is not recorded
  // on the timeline of that agent.
  const owner =
    claimed && agentId && isAtLocation({ ...claimed, agentId })
      ? { organizationId: claimed.organizationId, agentId }
      : null;
  const [finding] = await tx.query<Finding & { isNew: boolean }>(
    `INSERT INTO machine_finding AS f (kind, provider, place, ref, agent_id, reason) VALUES ('orphan', $1, $2, $3, $4, $5)
     ON CONFLICT (kind, provider, place, ref) DO UPDATE SET last_seen_at = muster_now(), reason = excluded.reason
     RETURNING first_seen_at, acted_at, xmax = 0 AS is_new`,
    [...key, agentId, reason],
    'reaper_found',
  );
  const { isNew } = finding!;
  if (isNew) {
    logger.warn(
      `found ${location.provider} machine ${found.ref} at ${location.name} in the state ${found.state}: ${reason}`,
    );
    recordOnTimeline(
      tx,
      owner,
      'warn',
      `its provider has the machine ${found.ref}, which is ${found.state}: ${reason}`,
    );
  }
  const isOn = found.state === 'running' || found.state === 'starting';
  if (isNew || !isOn || !stops || !isConfirmedFinding(finding!, now, confirmMs)) {
    return { step: isNew ? 'found' : 'known', reason, owner };
  }
  // The recorded time keeps other replicas from stopping the machine until the confirmation time has passed. If this
  // process dies before the stop, a later pass stops the machine.
  await tx.execute(`UPDATE machine_finding SET acted_at = muster_now() ${whereOrphan}`, key);
  return { step: 'stop', reason, owner };
}

/**
 * Whether the machine has the tag of an organization of this service. Machines without such a tag may belong to other
 * services and are not changed.
 */
async function hasOrganizationTag(tx: Transaction, { organizationId }: ListedMachine): Promise<boolean> {
  if (!organizationId || !isUuid(organizationId)) return false;
  return (await tx.query('SELECT FROM organization WHERE id = $1', [organizationId])).length > 0;
}

function recordOnTimeline(tx: Transaction, owner: Owner | null, level: 'warn' | 'error', message: string): void {
  if (owner) appendTimeline(tx, owner, [{ kind: 'provisioning', source: 'watchdog', level, message }]);
}

function getFindingKey(location: MachineLocation, { ref }: ListedMachine): string[] {
  return [location.provider, location.name, ref];
}

/** Returns both forms of a container's id: the long id, and the short form that Docker usually shows. */
function listContainerNames(id: string): string[] {
  return [id, id.slice(0, 12)];
}

function toMachineOfOrphan(asking: Machine, { ref, agentId, organizationId }: ListedMachine): Machine {
  return {
    ...asking,
    agentId: agentId ?? asking.agentId,
    organizationId: organizationId ?? asking.organizationId,
    providerRef: ref,
  };
}

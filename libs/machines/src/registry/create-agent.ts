import { audit, type Principal } from '@muster/access';
import { AppError, type CreateAgentBody, invalidFieldError } from '@muster/contracts';
import { type Transaction, getViolatedConstraint } from '@muster/database';
import { cleanNameForSentence, newId } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import type { VmConfig } from '@muster/vm';
import { issueAgentKey } from './agent-keys';
import { requestWake } from '../life/wakes';
import { appendTimeline } from '@muster/timeline';
import { type AgentRow, loadAgent } from './agent-row';
import { readProviderConfig } from './provider-config';

/**
 * Creates an agent. Only this response contains the agent's key. A local machine starts at once; other machines keep
 * their state.
 */
export async function createAgent(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { name, provider, providerConfig, labels = [] }: CreateAgentBody,
  { wakeTimeoutMs, localAgents }: Pick<VmConfig, 'wakeTimeoutMs' | 'localAgents'>,
): Promise<{ agent: AgentRow; workerKey: string }> {
  const { organizationId } = caller;
  if (provider === 'local' && !localAgents) throwLocalAgentsDisabled();
  const { config, ref, computeMicrosPerHour } = readProviderConfig(provider, providerConfig);
  const id = newId();
  // An external machine is offline until it reports. The provider of any other machine is asked for the machine's
  // actual state afterwards.
  const status = provider === 'external' ? 'offline' : 'stopped';
  await throwIfNameTaken(() =>
    tx.execute(
      `INSERT INTO agent (id, organization_id, name, status, status_source, status_reason, provider, provider_config,
         provider_ref, labels, compute_micros_per_hour)
       VALUES ($1, $2, $3, $4, 'api', 'it was created, and its worker has not connected yet', $5, $6, $7, $8, $9)`,
      [
        id,
        organizationId,
        name,
        status,
        provider,
        JSON.stringify(config),
        provider === 'local' ? id : ref,
        labels,
        computeMicrosPerHour,
      ],
    ),
  );
  const workerKey = await issueAgentKey(tx, keyRing, caller, { organizationId, agentId: id, name });
  const agentRef = { organizationId, agentId: id };
  appendTimeline(tx, agentRef, [
    { kind: 'provisioning', source: 'api', message: `${cleanNameForSentence(name)} was created (${provider})` },
  ]);
  if (provider === 'local') {
    await requestWake(tx, { ...agentRef, source: 'api', reason: 'created', timeoutMs: wakeTimeoutMs });
  } else if (provider !== 'external') {
    await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId: id } });
  }
  audit(tx, caller, {
    action: 'agent.create',
    target: { type: 'agent', id },
    changes: { name, provider, providerRef: ref, labels },
  });
  return { agent: await loadAgent(tx, organizationId, id), workerKey };
}

function throwLocalAgentsDisabled(): never {
  const message = 'provider local is not enabled on this service (LOCAL_AGENTS)';
  throw invalidFieldError('provider', message);
}

/**
 * Converts a violation of the unique index on names into a conflict error. Names are unique among the agents that are
 * not terminated.
 */
export async function throwIfNameTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (getViolatedConstraint(error) !== 'agent_name_key') throw error;
    throw new AppError('conflict', {
      detail: 'An agent with this name already exists. Use another name.',
      errors: [{ field: 'name', message: 'name is taken' }],
    });
  }
}

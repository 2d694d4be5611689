import { audit, isValidWorkerKey, type Principal, describeCallerInSentence, getCallerChannel } from '@muster/access';
import { type AgentActionAnswer, type AgentActionBody, type CommandKind, invalidFieldError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { encryptSecrets } from '../command/sealed-payload';
import { startCommand } from './start-command';
import { insertRecording, markRecordingStopping, requireActiveRecording } from '../recordings/request-recording';
import { loadAgent, rebootAgent } from '@muster/machines';

export interface CommandActionParts {
  keyRing: KeyRing;
  wakeTimeoutMs: number;
  now: Date;
}

const commandTimeoutMs = 120_000;
/**
 * Milliseconds within which a stop_recording command must end. The worker uploads the video before it answers, which
 * takes up to 15 minutes.
 */
const stopRecordingTimeoutMs = 20 * 60_000;

/** Replaces the worker's key with a valid one. */
export async function repairWorker(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<AgentActionAnswer> {
  const apiKey = await requireUsableKey(tx, caller, id, body, parts.now);
  const { provider, status, currentJobId, running } = await loadAgent(tx, caller.organizationId, id, 'lock');
  // The service may have rejected the worker's requests because of an invalid key. The service restarts a local worker
  // with a valid key.
  if (provider === 'local' && status === 'offline' && !currentJobId && !running) {
    await rebootAgent(tx, caller, id);
  }
  return issueActionCommand(tx, caller, id, { body, parts, payload: encryptSecrets(parts.keyRing, id, { apiKey }) });
}

export async function startRecording(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<AgentActionAnswer> {
  const recordingId = newId();
  const { name, kind, startUrl } = body;
  if (kind === 'screen' && startUrl) {
    throw invalidFieldError('startUrl', 'startUrl is only allowed for a recording of the kind browser');
  }
  const fields = { ...(name ? { name } : {}), ...(kind ? { kind } : {}), ...(startUrl ? { startUrl } : {}) };
  const payload = { recordingId, ...fields };
  const started = await issueActionCommand(tx, caller, id, { body, parts, payload, recordingId });
  insertRecording(tx, { organizationId: caller.organizationId, agentId: id, recordingId }, fields);
  return started;
}

/** Issues a command for an active recording: it attaches to the recording or stops it. */
export async function attachOrStopRecording(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<AgentActionAnswer> {
  const recordingId = requireActionField(body, 'recordingId');
  const recordingRef = { organizationId: caller.organizationId, agentId: id, recordingId };
  await (body.action === 'stop_recording'
    ? markRecordingStopping(tx, recordingRef)
    : requireActiveRecording(tx, recordingRef));
  return issueActionCommand(tx, caller, id, { body, parts, payload: { recordingId }, recordingId });
}

export function deployExtension(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<AgentActionAnswer> {
  const { key } = body;
  const payload = { version: requireActionField(body, 'version'), ...(key ? { key } : {}) };
  return issueActionCommand(tx, caller, id, { body, parts, payload });
}

/** Returns a field of the request that the action requires. Throws if the field is absent. */
export function requireActionField(
  body: AgentActionBody,
  field: 'jobId' | 'apiKey' | 'recordingId' | 'version',
): string {
  const value = body[field];
  if (value === undefined) {
    throw invalidFieldError(field, `${field} is required for the action ${body.action}`);
  }
  return value;
}

/**
 * Returns the key to send to the worker. Throws if the worker could not use the key, because it could then never report
 * again.
 */
async function requireUsableKey(
  tx: Transaction,
  { organizationId }: Principal,
  id: string,
  body: AgentActionBody,
  now: Date,
): Promise<string> {
  await loadAgent(tx, organizationId, id);
  const apiKey = requireActionField(body, 'apiKey');
  if (await isValidWorkerKey(tx, apiKey, { organizationId, agentId: id, now })) return apiKey;
  throw invalidFieldError(
    'apiKey',
    'apiKey must be a valid worker key of this organization, for this agent or for all agents',
  );
}

interface ActionCommand {
  body: AgentActionBody;
  parts: CommandActionParts;
  payload: Record<string, unknown>;
  recordingId?: string;
}

async function issueActionCommand(
  tx: Transaction,
  caller: Principal,
  id: string,
  { body: { action, reason }, parts: { wakeTimeoutMs, now }, payload, recordingId }: ActionCommand,
): Promise<AgentActionAnswer> {
  const { organizationId } = caller;
  const recording = recordingId ? { recordingId } : {};
  const commandId = await startCommand(tx, {
    organizationId,
    agentId: id,
    kind: action as CommandKind,
    payload,
    requestedBy: { source: getCallerChannel(caller), by: describeCallerInSentence(caller), reason },
    timeoutMs: action === 'stop_recording' ? stopRecordingTimeoutMs : commandTimeoutMs,
    wakeTimeoutMs,
    now,
  });
  audit(tx, caller, {
    action: `agent.${action}`,
    target: { type: 'agent', id },
    changes: { commandId, ...recording },
  });
  const { status } = await loadAgent(tx, organizationId, id);
  return { success: true, action, status, commandId, ...recording };
}

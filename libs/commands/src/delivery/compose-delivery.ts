import { deriveAgentSigningSecrets, openVariables, resolveSecrets } from '@muster/access';
import { type AgentCommand, maskVariables, type StoredVariables } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import type { KeyRing } from '@muster/vault';
import { deriveAgentKey, deriveMatchingKey } from '@muster/machines';
import type { CommandRow } from '../command/command-row';
import { decryptPayload } from '../command/sealed-payload';
import { deriveWorkerTrace } from '../command/worker-trace';

export interface DeliveryParts {
  database: Database;
  keyRing: KeyRing;
  storage: ObjectStorage;
  /** The base URL at which the agent's worker reaches the service. */
  serviceUrl: string;
  /** Worker keys that the agent's worker may be using; read from the database if absent. */
  workerKeys?: string[];
}

const urlLifetimeSeconds = 3600;

export type Composed = { command: AgentCommand } | { id: string; kind: string; missing: string[] };

/**
 * Builds the commands of one agent as they are sent to the worker, or returns the names of missing secrets. Called just
 * before each delivery. The result is never stored, because its environment contains secrets and credentials.
 */
export async function composeDeliveries(parts: DeliveryParts, commands: CommandRow[]): Promise<Composed[]> {
  const [first] = commands;
  if (!first) return [];
  const { database, keyRing, storage, serviceUrl, workerKeys } = parts;
  const { organizationId, agentId } = first;
  const keys = [...new Set(commands.flatMap((command) => Object.values(listSecretVariables(command))))];
  const [resolved, apiKey] = await Promise.all([
    keys.length ? resolveSecrets(database, keyRing, organizationId, keys) : { values: {}, missing: [] },
    workerKeys
      ? deriveMatchingKey(keyRing, workerKeys)
      : deriveAgentKey(database, keyRing, { organizationId, agentId }),
  ]);
  const own = {
    ...(apiKey ? { SERVICE_API_KEY: apiKey } : {}),
    AGENT_ID: agentId,
    ORGANIZATION_ID: organizationId,
    SERVICE_SIGNING_SECRET: deriveAgentSigningSecrets(keyRing, { organizationId, agentId })[0]!,
  };
  return Promise.all(
    commands.map(async (command): Promise<Composed> => {
      const { id, kind, jobId, deadline, env, payload } = command;
      const { secrets, missing } = readSecretsOfCommand(command, resolved);
      if (missing.length) return { id, kind, missing };
      const { requestId, traceparent } = command;
      const opened = await openVariables(database, keyRing, organizationId, env);
      return {
        command: {
          commandId: id,
          kind,
          agentId,
          organizationId,
          ...(jobId ? { jobId } : {}),
          deadline: deadline.toISOString(),
          env: {
            SERVICE_BASE_URL: serviceUrl,
            ...(traceparent ? { TRACEPARENT: deriveWorkerTrace({ id, traceparent }).worker } : {}),
            ...maskVariables(env),
            ...opened,
            ...secrets,
            ...own,
            ...(requestId ? { MUSTER_REQUEST_ID: requestId } : {}),
          },
          payload: {
            ...decryptPayload(keyRing, agentId, payload),
            ...(await presignPackBundle(storage, payload, serviceUrl)),
            ...(Object.keys(opened).length > 0
              ? { variables: { ...(payload['variables'] as StoredVariables), ...opened } }
              : {}),
            secretNames: Object.keys(secrets),
            ...(Object.keys(opened).length > 0 ? { sensitiveNames: Object.keys(opened) } : {}),
          },
        },
      };
    }),
  );
}

/** Returns the environment variables of a command that contain secrets, each with its vault key. */
function listSecretVariables({ vaultKeys, secretAliases }: CommandRow): Record<string, string> {
  return { ...Object.fromEntries(vaultKeys.map((key) => [key, key])), ...secretAliases };
}

/**
 * Returns the environment variables that contain secrets. A TOTP secret among the vault keys only allows the run to
 * request codes, so it has no variable.
 */
function readSecretsOfCommand(
  command: CommandRow,
  { values, missing: lost }: { values: Record<string, string>; missing: string[] },
): { secrets: Record<string, string>; missing: string[] } {
  const named = Object.entries(listSecretVariables(command));
  const aliases = command.secretAliases ?? {};
  const isLost = (name: string, key: string) => lost.includes(key) || (name in aliases && !(key in values));
  return {
    secrets: Object.fromEntries(named.flatMap(([name, key]) => (key in values ? [[name, values[key]!]] : []))),
    missing: named.flatMap(([name, key]) => (isLost(name, key) ? [key] : [])),
  };
}

/**
 * Replaces the bundle's object key in the payload by a presigned URL that is valid for one hour. Each delivery gets a
 * new URL.
 */
async function presignPackBundle(
  storage: ObjectStorage,
  { bundle }: Record<string, unknown>,
  address: string,
): Promise<{ bundle?: { digest: string; url: string } }> {
  if (!bundle) return {};
  const { digest, objectKey } = bundle as { digest: string; objectKey: string };
  return {
    bundle: { digest, url: await storage.presignGet(objectKey, { expiresInSeconds: urlLifetimeSeconds, address }) },
  };
}

/** Enqueues a dispatch of the agent. The dispatcher fails a job whose run command has missing secrets. */
export function enqueueDispatchForLostSecret(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
): Promise<void> {
  return database.transaction({ organizationId }, (tx) =>
    tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } }),
  );
}

export function describeMissingSecrets(missing: string[]): string {
  return `The vault has no ${missing.join(', ')}.`;
}

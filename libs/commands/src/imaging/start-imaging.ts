import { type Principal, getCallerChannel, describeCallerInSentence } from '@muster/access';
import { type ImagingImagesBody, invalidFieldError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { runCommand } from '../requests/run-command';
import { loadAgent } from '@muster/machines';
import type { ImagingCommand } from './imaging-keys';

/**
 * Time limit of an imaging command in milliseconds. The worker stops at this limit, and the service fails a command
 * that has not ended by then.
 */
const imagingTimeoutMs = 15 * 60_000;

export interface ImagingRequest {
  kind: ImagingCommand['kind'];
  payload: Record<string, unknown>;
  wakeTimeoutMs: number;
  now: Date;
}

/** Issues a command that reads images. Only the command names the patient, not the audit log or the timeline. */
export async function startImaging(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { kind, payload, wakeTimeoutMs, now }: ImagingRequest,
): Promise<string> {
  await loadAgent(tx, caller.organizationId, agentId);
  const requestedBy = { source: getCallerChannel(caller), by: describeCallerInSentence(caller) };
  return runCommand(tx, caller, agentId, {
    kind,
    payload,
    requestedBy,
    timeoutMs: imagingTimeoutMs,
    wakeTimeoutMs,
    now,
  });
}

/** Throws if two images of a request have the same ordinal, because their storage keys would be equal. */
export function requireDistinctImages({ images }: ImagingImagesBody): void {
  const seen = new Set<number>();
  for (const [at, { ordinal }] of images.entries()) {
    if (seen.has(ordinal))
      throw invalidFieldError(`images.${at}.ordinal`, `images.${at}.ordinal occurs twice; it must be unique`);
    seen.add(ordinal);
  }
}

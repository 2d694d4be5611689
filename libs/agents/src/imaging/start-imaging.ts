import { type Principal, sourceOf, spokenNameOf } from '@muster/access';
import { type ImagingImagesBody, invalidField } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { runCommand } from '../actions/run-command';
import { loadAgent } from '../registry/agent-row';
import type { ImagingCommand } from './imaging-keys';

/** Both end by then: the worker stops at it, and the service fails what has not ended. */
const imagingTimeoutMs = 15 * 60_000;

export interface ImagingRequest {
  kind: ImagingCommand['kind'];
  payload: Record<string, unknown>;
  wakeTimeoutMs: number;
  now: Date;
}

/** Has an agent read pictures for somebody. Whose they are stands in the command alone, and in no trail. */
export async function startImaging(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { kind, payload, wakeTimeoutMs, now }: ImagingRequest,
): Promise<string> {
  await loadAgent(tx, caller.organizationId, agentId);
  const asked = { source: sourceOf(caller), by: spokenNameOf(caller) };
  return runCommand(tx, caller, agentId, { kind, payload, asked, timeoutMs: imagingTimeoutMs, wakeTimeoutMs, now });
}

/** What a request says of images beyond what each of them may be: no two have one place. */
export function requireDistinct({ images }: ImagingImagesBody): void {
  const seen = new Set<number>();
  for (const [at, { ordinal }] of images.entries()) {
    if (seen.has(ordinal))
      throw invalidField(`images.${at}.ordinal`, `images.${at}.ordinal occurs twice; it must be unique`);
    seen.add(ordinal);
  }
}

import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { needsOf } from '../reports/machine-capabilities';
import { sealPayload } from '../commands/sealed-payload';
import { startCommand } from '../commands/start-command';

interface FramesRequest {
  organizationId: string;
  agentId: string;
  /** Python that takes the frames, and finds the secrets among its inputs. */
  code: string;
  /** Addresses that are keys to what they lead to: kept sealed until they are delivered. */
  secrets: Record<string, string>;
  keyRing: KeyRing;
  timeoutMs: number;
  wakeTimeoutMs: number;
  now: Date;
}

/** Has an agent take frames of a film. */
export function startFramesCommand(
  tx: Transaction,
  { organizationId, agentId, code, secrets, keyRing, timeoutMs, wakeTimeoutMs, now }: FramesRequest,
): Promise<string> {
  const payload = { code, timeoutMs, ...sealPayload(keyRing, agentId, secrets) };
  const asked = { source: 'api' as const, by: 'the assistant', reason: 'the frames of a recording' };
  return startCommand(tx, {
    ...{ organizationId, agentId, kind: 'snippet', payload, asked, timeoutMs, wakeTimeoutMs, now },
    needs: [...needsOf('snippet'), 'ffmpeg'],
  });
}

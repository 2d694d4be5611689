import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { listNeededParts } from '@muster/machines';
import { encryptSecrets } from '../command/sealed-payload';
import { startCommand } from './start-command';

interface FramesRequest {
  organizationId: string;
  agentId: string;
  /** Python code that extracts the frames. It reads the secrets from its inputs. */
  code: string;
  /** Presigned URLs. They are secret, so they are stored encrypted until the command is delivered. */
  secrets: Record<string, string>;
  keyRing: KeyRing;
  timeoutMs: number;
  wakeTimeoutMs: number;
  now: Date;
}

/** Issues a command that extracts frames from a video. */
export function startFramesCommand(
  tx: Transaction,
  { organizationId, agentId, code, secrets, keyRing, timeoutMs, wakeTimeoutMs, now }: FramesRequest,
): Promise<string> {
  const payload = { code, timeoutMs, ...encryptSecrets(keyRing, agentId, secrets) };
  const requestedBy = { source: 'api' as const, by: 'the assistant', reason: 'the frames of a recording' };
  return startCommand(tx, {
    ...{ organizationId, agentId, kind: 'snippet', payload, requestedBy, timeoutMs, wakeTimeoutMs, now },
    needs: [...listNeededParts('snippet'), 'ffmpeg'],
  });
}

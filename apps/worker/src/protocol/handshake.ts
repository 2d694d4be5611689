import { setTimeout as sleep } from 'node:timers/promises';
import type { BootEnd, HandshakeAnswer, HandshakeBody, MachineCapability, MachineRefusal } from '@muster/contracts';
import { computeBackoffMs, callbackBackoff, refusedKeyBackoff } from './backoff';
import { toStringOrEmpty } from './command';
import { isKeyRefusal, type Keys } from '../host/keys';
import type { LocalLog } from '../host/local-log';
import { getMachineName, getPlatformName, workerVersion } from '../host/machine';
import { type Answer, getErrorMessage, serializeBody, type Service } from './service';

export interface Introduction {
  organizationId: string;
  signingSecret: string;
  heartbeatMs: number;
}

export interface HandshakeOptions {
  agentId: string;
  bootId: string;
  tunnel: string | null;
  capabilities: string[];
  machineCapabilities: MachineCapability[];
  keys: Keys;
  log: LocalLog;
}

export class BootOver extends Error {
  constructor(readonly end: BootEnd | 'terminated') {
    super(`the service no longer accepts requests of this boot of the machine: ${end}`);
  }
}

/** Registers this boot with the service and retries until that succeeds. Throws BootOver if no retry can succeed. */
export async function performHandshake(
  service: Service,
  { agentId, bootId, tunnel, capabilities, machineCapabilities, keys, log }: HandshakeOptions,
  stopping: AbortSignal,
): Promise<Introduction> {
  const text = serializeBody<HandshakeBody>({
    agentId,
    bootId,
    hostname: getMachineName(),
    tunnelHostname: tunnel,
    workerVersion,
    platform: getPlatformName(),
    capabilities,
    machineCapabilities,
  });
  const call = { method: 'POST', path: '/api/agents/handshake', text } as const;
  for (let attempt = 1; ; attempt += 1) {
    let limits = callbackBackoff;
    let retryAfterMs = 0;
    try {
      const answer = await service.callService<HandshakeAnswer & MachineRefusal>(call);
      const { organizationId, signingSecret, heartbeatSeconds } = answer.body;
      if (answer.status < 300 && toStringOrEmpty(signingSecret)) {
        keys.confirmKey();
        const seconds = Number(heartbeatSeconds) > 0 ? Number(heartbeatSeconds) : 15;
        return {
          organizationId: toStringOrEmpty(organizationId),
          signingSecret: toStringOrEmpty(signingSecret),
          heartbeatMs: seconds * 1000,
        };
      }
      const end = parseBootEnd(answer);
      if (end) throw new BootOver(end);
      retryAfterMs = answer.retryAfterMs;
      if (isKeyRefusal(answer.status) && keys.switchToNextKey()) {
        log('error', 'the service rejects the key that the last repair of the worker saved; trying SERVICE_API_KEY', {
          status: answer.status,
          agentId,
        });
        attempt -= 1;
        continue;
      }
      if ([401, 403].includes(answer.status)) {
        limits = refusedKeyBackoff;
        log('error', 'the service rejects SERVICE_API_KEY for this AGENT_ID', { status: answer.status, agentId });
      } else {
        log('error', 'the service rejected the handshake', { status: answer.status, code: answer.body.code });
      }
    } catch (error) {
      stopping.throwIfAborted();
      if (error instanceof BootOver) throw error;
      log('warn', 'the service cannot be reached', { why: getErrorMessage(error) });
    }
    await sleep(computeBackoffMs(attempt, limits, retryAfterMs), undefined, { signal: stopping });
  }
}

const bootEnds: readonly BootEnd[] = ['ended', 'superseded'];

/**
 * Returns why the service has ended this boot. Null if the boot continues, also while the machine is being stopped:
 * either the machine is off soon, or the stop does not happen.
 */
function parseBootEnd({ status, body: { boot, agentStatus } }: Answer<MachineRefusal>): BootEnd | 'terminated' | null {
  if (status !== 409) return null;
  if (agentStatus === 'terminated') return 'terminated';
  return bootEnds.find((end) => end === boot) ?? null;
}

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { computeBackoffMs } from '../protocol/backoff';
import type { Command, Result } from '../protocol/command';
import { writeAtomically } from './files';
import type { Service } from '../protocol/service';
import type { Settings } from '../settings';
import { waitUnlessAborted } from './waiting';

/** Whether the key is refused permanently: it is unknown, not for this agent, or of another organization. */
export const isKeyRefusal = (status: number): boolean => [401, 403, 404].includes(status);

const trialMs = 60_000;

/**
 * Holds the API keys of the worker: the key of its environment, and the key that a repair stored in its folder. The
 * stored key is preferred.
 */
export class Keys {
  private readonly path: string;
  private readonly environmentKey: string;
  private storedKey: string | null;
  private chosen: string;

  constructor({ folder, apiKey }: Pick<Settings, 'folder' | 'apiKey'>) {
    this.path = join(folder, 'service-key');
    this.environmentKey = apiKey;
    this.storedKey = (existsSync(this.path) && readFileSync(this.path, 'utf8').trim()) || null;
    this.chosen = this.storedKey ?? apiKey;
  }

  get currentKey(): string {
    return this.chosen;
  }

  listKeys(): string[] {
    return this.storedKey ? [this.storedKey, this.environmentKey] : [this.environmentKey];
  }

  storeKey(key: string): void {
    writeAtomically(this.path, key);
  }

  /**
   * Switches to the other key because the service refuses the current key. Returns whether to try the other key at
   * once: false if there is no other key, or if both keys have been tried.
   */
  switchToNextKey(): boolean {
    if (this.storedKey === null || this.storedKey === this.environmentKey) return false;
    this.chosen = this.chosen === this.storedKey ? this.environmentKey : this.storedKey;
    return this.chosen === this.environmentKey;
  }

  /** Called when the service accepts the current key. Deletes the stored key if the service refused it before. */
  confirmKey(): void {
    if (this.storedKey === null || this.chosen === this.storedKey) return;
    rmSync(this.path, { force: true });
    this.storedKey = null;
  }
}

/**
 * Stores a new key for the worker's next start, but only if the service accepts the key. With an invalid key, the
 * worker would receive no more commands.
 */
export async function replaceKey(
  { keys, service, agentId }: { keys: Keys; service: Service; agentId: string },
  { payload: { apiKey } }: Command,
  stopping: AbortSignal,
): Promise<Result> {
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]{8,500}$/.test(apiKey)) {
    return { status: 'failed', error: 'the apiKey is not a valid key' };
  }
  const path = `/api/agents/${agentId}/commands?wait=0`;
  const until = Date.now() + trialMs;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await service.callService({ method: 'GET', path, apiKey, until: stopping }).catch(() => null);
    if (answer && answer.status < 300) break;
    if (answer && isKeyRefusal(answer.status)) {
      const error = `the service rejects the new key for this agent (${answer.status}); the old key remains in use`;
      return { status: 'failed', error };
    }
    if (stopping.aborted || Date.now() > until) {
      const reason = answer ? `it returned status ${answer.status}` : 'it did not answer';
      return {
        status: 'failed',
        error: `the new key could not be checked with the service: ${reason}; the old key remains in use`,
      };
    }
    await waitUnlessAborted(computeBackoffMs(attempt, undefined, answer?.retryAfterMs), stopping);
  }
  keys.storeKey(apiKey);
  return { status: 'success', output: { restarting: true } };
}

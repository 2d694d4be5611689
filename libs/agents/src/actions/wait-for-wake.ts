import type { Database } from '@muster/database';
import type { PubSub } from '@muster/platform';

export interface WakeEnd {
  state: 'ready' | 'timeout' | 'failed' | 'cancelled';
  error: string | null;
}

const lookMs = 500;

/** How the wake ended; null when the caller stopped waiting. The wake goes on without its callers. */
export async function waitForWake(
  { database, pubSub }: { database: Database; pubSub: PubSub },
  wake: { organizationId: string; agentId: string; wakeId: string },
  signal: AbortSignal,
): Promise<WakeEnd | null> {
  let hear: (() => void) | undefined;
  const unsubscribe = pubSub.subscribe('agent', (id) => id === wake.agentId && hear?.());
  try {
    while (!signal.aborted) {
      const heard = new Promise<void>((resolve) => (hear = resolve));
      const [row] = await database.query<{ state: WakeEnd['state'] | 'open'; error: string | null }>(
        { organizationId: wake.organizationId },
        'SELECT state, error FROM agent_wake WHERE id = $1',
        [wake.wakeId],
        'wake_state',
      );
      if (!row) return { state: 'cancelled', error: 'the agent is gone' };
      if (row.state !== 'open') return { state: row.state, error: row.error };
      await changeOrTime(heard, signal);
    }
    return null;
  } finally {
    unsubscribe();
  }
}

/** News can be lost, so it also looks by itself. */
async function changeOrTime(heard: Promise<void>, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let end: (() => void) | undefined;
  const time = new Promise<void>((resolve) => {
    end = resolve;
    timer = setTimeout(resolve, lookMs);
    signal.addEventListener('abort', resolve as () => void, { once: true });
  });
  await Promise.race([heard, time]);
  clearTimeout(timer);
  signal.removeEventListener('abort', end!);
}

import { finishWithin } from '../context/finish-within';
import type { PubSub, Topic } from './pub-sub';

interface Watch {
  pubSub: PubSub;
  topic: Topic;
  /** Id of the notifications after which the state is read again. */
  id: string;
  /** Interval in ms at which the state is also read, because a notification can be lost. */
  pollMs: number;
  signal: AbortSignal;
}

/** Reads a state until it is final or the signal aborts, and returns the state that was read last. */
export async function watchUntilFinal<T>(
  { pubSub, topic, id, pollMs, signal }: Watch,
  read: () => Promise<T>,
  isFinal: (state: T) => boolean,
): Promise<T> {
  let notify: (() => void) | undefined;
  const unsubscribe = pubSub.subscribe(topic, (notifiedId) => notifiedId === id && notify?.());
  try {
    for (;;) {
      const notified = new Promise<void>((resolve) => (notify = resolve));
      const state = await read();
      if (isFinal(state) || signal.aborted) return state;
      await finishWithin(pollMs, notified, () => undefined, signal);
    }
  } finally {
    unsubscribe();
  }
}

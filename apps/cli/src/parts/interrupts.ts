/** Has Ctrl-C to itself until it is let go; the handler is told how many there were. */
export function onInterrupt(handler: (count: number) => void): () => void {
  let count = 0;
  const listener = () => handler((count += 1));
  process.on('SIGINT', listener);
  return () => void process.off('SIGINT', listener);
}

/** The same for everything that asks a process to end: also its terminal that closes, and who supervises it. */
export function onEnd(handler: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, handler);
  return () => signals.forEach((signal) => process.off(signal, handler));
}

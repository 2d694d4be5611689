/** Handles Ctrl-C until the returned function is called. The handler receives the number of presses so far. */
export function onInterrupt(handler: (count: number) => void): () => void {
  let count = 0;
  const countInterrupt = () => handler((count += 1));
  process.on('SIGINT', countInterrupt);
  return () => void process.off('SIGINT', countInterrupt);
}

/** Handles Ctrl-C, SIGTERM and a closed terminal until the returned function is called. */
export function onProcessEnd(handler: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, handler);
  return () => signals.forEach((signal) => process.off(signal, handler));
}

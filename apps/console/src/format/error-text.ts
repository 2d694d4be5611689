/** Splits a run's error into its first line, the cause, and the rest: how the script ended, and its stack trace. */
export function splitError(error: string): { cause: string; details: string } {
  const [cause = '', ...details] = error.split('\n');
  return { cause, details: details.join('\n').trim() };
}

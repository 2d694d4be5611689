/** A run's error: the line that says what went wrong, and what follows it: how the script ended, and its trace. */
export function partsOfError(error: string): { cause: string; details: string } {
  const [cause = '', ...details] = error.split('\n');
  return { cause, details: details.join('\n').trim() };
}

/**
 * Polls the condition until it returns a truthy value, and returns that value. A condition that throws counts as "not
 * yet"; its last error is part of the message when the time is up.
 */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 45_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await condition();
      if (answer) return answer;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadline) throw createTimeoutError(what, timeoutMs, lastError);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function createTimeoutError(what: string, timeoutMs: number, lastError: unknown): Error {
  const reason = lastError === undefined ? '' : `; the last attempt failed: ${getErrorMessage(lastError)}`;
  return new Error(`timed out after ${timeoutMs} ms while waiting for: ${what}${reason}`, { cause: lastError });
}

function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does the work and renews its lease until the work is done, because the work can take longer than a lease. If `renew`
 * returns false, another process has the lease, and `lost` aborts. A renewal that fails is repeated at the next
 * interval.
 *
 * When this function returns, no renewal is in progress, so none can overwrite a later write to the row.
 */
export async function runWhileRenewingLease<T>(
  renew: () => Promise<boolean | void>,
  work: (lost: AbortSignal) => Promise<T>,
  everyMs: number,
): Promise<T> {
  const lost = new AbortController();
  let renewing: Promise<void> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      .then(
        (isHeld) => void (isHeld === false && lost.abort()),
        () => undefined,
      )
      .finally(() => (renewing = null));
  }, everyMs);
  try {
    return await work(lost.signal);
  } finally {
    clearInterval(timer);
    await renewing;
  }
}

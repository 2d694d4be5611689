/**
 * Duration of a lease in milliseconds. If a process dies while it executes an order, another process continues the
 * order after this time.
 */
export const leaseMs = 15_000;

/**
 * Does the work and renews its lease until the work is done, because a call to a provider can take longer than a lease.
 * When this function returns, no renewal is in progress, so none can overwrite a later write to the row.
 */
export async function holdLease<T>(
  renew: () => Promise<unknown>,
  work: () => Promise<T>,
  everyMs = leaseMs / 3,
): Promise<T> {
  let renewing: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      // A failed renewal means that the lease may be lost. The process that takes over reads the machine's state before
      // it acts.
      .catch(() => undefined)
      .finally(() => (renewing = null));
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await renewing;
  }
}

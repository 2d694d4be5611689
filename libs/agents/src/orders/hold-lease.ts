/**
 * Lease duration in milliseconds. If a process dies during an order, another process continues the order after this
 * time.
 */
export const leaseMs = 15_000;

/**
 * Does the work and renews its lease until it is done, because a call to a provider can take longer than a lease. After
 * the return nothing renews the lease, so a later write to the row is not overwritten.
 */
export async function holdLease<T>(
  renew: () => Promise<unknown>,
  work: () => Promise<T>,
  everyMs = leaseMs / 3,
): Promise<T> {
  let renewing: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      // A failed renewal loses the lease; the next process reads the machine's state before it acts.
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

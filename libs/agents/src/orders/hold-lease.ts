/** A machine whose keeper died is taken care of by the next one after so long. */
export const leaseMs = 15_000;

/**
 * Does the work and renews the lease on it meanwhile: a call to a provider may take longer than anybody should wait for
 * one who died with it. When this is over, so is the renewing, and what is noted then stands.
 */
export async function holdLease<T>(
  renew: () => Promise<unknown>,
  work: () => Promise<T>,
  everyMs = leaseMs / 3,
): Promise<T> {
  let renewing: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      // Who cannot renew it loses it, and the next one looks before it acts.
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

/** The tracker did not answer, or asked to retry later. The same call may be made again. */
export class TrackerBusy extends Error {
  override name = 'TrackerBusy';

  constructor(
    message: string,
    /** Delay that the tracker requested; null if it did not specify one. */
    readonly retryAfterMs: number | null,
    /** Whether the tracker limits all calls of the service, not only this one. */
    readonly isRateLimit = false,
  ) {
    super(message);
  }
}

/** The tracker rejects the credentials, or the repository or list does not exist. Calls fail until this is fixed. */
export class TrackerClosed extends Error {
  override name = 'TrackerClosed';
}

/** The issue or task does not exist any more. */
export class ItemGone extends Error {
  override name = 'ItemGone';
}

/** The tracker rejects the request permanently; sending it again does not help. */
export class TrackerRefused extends Error {
  override name = 'TrackerRefused';
}

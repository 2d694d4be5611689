/** No answer, or one that says later: the same call may be made again. */
export class TrackerBusy extends Error {
  override name = 'TrackerBusy';

  constructor(
    message: string,
    /** How long it asked for; null where it did not say. */
    readonly retryAfterMs: number | null,
    /** It wants a rest from all of us, not only from this call. */
    readonly wantsRest = false,
  ) {
    super(message);
  }
}

/** It knows us no more, or there is no such repository or list: nothing will go until somebody changes that. */
export class TrackerClosed extends Error {
  override name = 'TrackerClosed';
}

/** This one issue or task is gone. */
export class ItemGone extends Error {
  override name = 'ItemGone';
}

/** It will not take this, however often it is sent. */
export class TrackerRefused extends Error {
  override name = 'TrackerRefused';
}

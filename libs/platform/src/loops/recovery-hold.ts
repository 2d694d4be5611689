/**
 * What a restored database believes of machines and runs is old: until an operator releases it, nothing of the service
 * acts by itself.
 */
export abstract class RecoveryHold {
  /** Also while it is not known yet. */
  abstract get isHeld(): boolean;

  /** Resolves when the service may act; rejects when the process ends before. */
  abstract released(): Promise<void>;
}

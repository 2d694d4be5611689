/**
 * Holds the service after a restore: a restored database has an outdated state of machines and runs. The service takes
 * no action on its own until an operator releases it.
 */
export abstract class RecoveryHold {
  /** Whether the service is held. True while this is not known yet. */
  abstract get isHeld(): boolean;

  /** Whether the service was restored and not released yet. False while this is not known yet. */
  abstract get isConfirmed(): boolean;

  /** Resolves when the service may act; rejects if the process ends before that. */
  abstract waitForRelease(): Promise<void>;
}

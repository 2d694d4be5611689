import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { RecoveryHold } from '@muster/platform';
import { Database } from '../database';
import { readRecoveryState } from './recovery';

const waitForDatabaseMs = 200;
const waitForReleaseMs = 1000;

/**
 * Polls the database until the service is not on hold. A hold cannot start later, because a restore requires an empty
 * database.
 */
@Injectable()
export class StoredRecoveryHold extends RecoveryHold implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('recovery');
  private held = true;
  private confirmed = false;
  private ended = false;
  private timer?: NodeJS.Timeout;
  private resolve!: () => void;
  private reject!: (reason: Error) => void;
  private readonly release = new Promise<void>((resolve, reject) => Object.assign(this, { resolve, reject }));

  constructor(@Inject(Database) private readonly database: Database) {
    super();
    // If no caller waits for the release, the rejected promise must not end the process as an unhandled rejection.
    this.release.catch(() => undefined);
  }

  override get isHeld(): boolean {
    return this.held;
  }

  override get isConfirmed(): boolean {
    return this.held && this.confirmed;
  }

  override waitForRelease(): Promise<void> {
    return this.release;
  }

  onApplicationBootstrap(): void {
    void this.pollRecovery();
  }

  onModuleDestroy(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.reject(new Error('The process is shutting down before the restored service was released.'));
  }

  private async pollRecovery(isLogged = false): Promise<void> {
    const recovery = await readRecoveryState(this.database).catch(() => 'unknown' as const);
    if (this.ended) return;
    if (recovery !== 'unknown' && !recovery?.held) {
      this.held = false;
      if (isLogged) this.logger.log('the restored service was released');
      return this.resolve();
    }
    const isKnown = recovery !== 'unknown';
    this.confirmed ||= isKnown;
    if (isKnown && !isLogged) {
      this.logger.warn(
        `this service was restored from a backup of ${recovery!.savedAt.toISOString()}; it starts no machine, command or schedule until muster-admin release`,
      );
    }
    const pollAgain = () => void this.pollRecovery(isLogged || isKnown);
    this.timer = setTimeout(pollAgain, isKnown ? waitForReleaseMs : waitForDatabaseMs);
  }
}

import { AppError } from '@muster/contracts';
import type { Database } from '../database';
import type { RecoveryHoldEntity } from '../entities/recovery-hold';

/** The recovery state of a database that was restored from a backup. */
export interface Recovery extends Pick<
  RecoveryHoldEntity,
  'backup' | 'savedAt' | 'restoredAt' | 'releasedAt' | 'fireMissed'
> {
  held: boolean;
}

export async function readRecoveryState(database: Database): Promise<Recovery | undefined> {
  const [recovery] = await database.query<Recovery>(
    'system',
    `SELECT backup, saved_at, restored_at, released_at, fire_missed, released_at IS NULL AS held FROM recovery_hold`,
    [],
    'read_recovery',
  );
  return recovery;
}

/**
 * Throws if the service is on hold after a restore. Call it before work on the machines and runs of all organizations.
 */
export async function requireReleasedRecovery(database: Database): Promise<Recovery | undefined> {
  const recovery = await readRecoveryState(database);
  if (!recovery?.held) return recovery;
  throw new AppError('conflict', {
    detail: `The service was restored from a backup of ${recovery.savedAt.toISOString()}. It starts and stops nothing until its operator runs muster-admin release.`,
  });
}

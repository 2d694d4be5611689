import { type Database, lock } from '@muster/database';
import { finishJob } from './finish-job';

interface Answered {
  organizationId: string;
  jobId: string;
  kind: string;
  status: string;
  output: string | null;
  cancelReason: string | null;
  cancelling: boolean;
}

/** A stop was answered: where nothing of the job runs any more, a job that was to end is cancelled now. */
export async function confirmStop(database: Database, commandId: string): Promise<void> {
  await database.transaction('system', async (tx) => {
    const [command] = await tx.query<Answered>(
      `SELECT c.organization_id AS "organizationId", c.job_id AS "jobId", c.kind, c.status, c.output,
              j.cancel_reason AS "cancelReason", j.cancel_requested_at IS NOT NULL AS cancelling
       FROM agent_command c JOIN job j ON j.id = c.job_id
       WHERE c.id = $1 AND c.kind = 'stop_job' AND c.status <> 'pending'`,
      [commandId],
    );
    if (!command?.cancelling || !nothingRemains(command)) return;
    const { organizationId, jobId, cancelReason } = command;
    await lock(tx, 'stop', jobId);
    await finishJob(tx, { organizationId, jobId, to: 'cancelled', source: 'dispatcher', error: cancelReason });
  });
}

function nothingRemains({ status, output }: Pick<Answered, 'status' | 'output'>): boolean {
  if (status !== 'success' || !output) return false;
  try {
    return (JSON.parse(output) as { remaining?: unknown } | null)?.remaining === 0;
  } catch {
    return false;
  }
}

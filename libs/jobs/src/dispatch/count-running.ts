import type { Transaction } from '@muster/database';

/** Returns the number of runs of the organization that are in progress. */
export async function countRunningJobs(tx: Transaction, organizationId: string): Promise<number> {
  const [row] = await tx.query<{ running: number }>(
    `SELECT count(*)::int AS running FROM agent WHERE organization_id = $1 AND current_job_id IS NOT NULL`,
    [organizationId],
  );
  return row!.running;
}

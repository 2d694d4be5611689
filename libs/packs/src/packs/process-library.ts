import { audit, type Principal } from '@muster/access';
import { invalidFieldError, type PutProcessBody, workerKeyPattern } from '@muster/contracts';
import type { Database, LibraryProcessEntity, Transaction, WorkflowPackEntity } from '@muster/database';
import type { Page } from '@muster/platform';

export type ProcessRow = Pick<LibraryProcessEntity, 'workerKey' | 'name' | 'description'> & {
  packId: WorkflowPackEntity['id'] | null;
};

const select = `SELECT l.worker_key, l.name, l.description, p.id AS pack_id
  FROM library_process l
  LEFT JOIN workflow_pack p ON p.organization_id = l.organization_id AND p.worker_key = l.worker_key`;

export function listProcesses(database: Database, organizationId: string, page: Page): Promise<ProcessRow[]> {
  return database.query<ProcessRow>(
    { organizationId },
    `${select} WHERE l.organization_id = $1 AND ($2::text IS NULL OR l.worker_key > $2) ORDER BY l.worker_key LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1],
  );
}

/** Creates or renames a process. The names of its packs do not change. */
export async function putProcess(
  tx: Transaction,
  caller: Principal,
  workerKey: string,
  { name, description = '' }: PutProcessBody,
): Promise<ProcessRow> {
  if (!workerKeyPattern.test(workerKey)) {
    throw invalidFieldError('workerKey', `workerKey must match ${workerKeyPattern} regular expression`);
  }
  const { organizationId } = caller;
  await tx.execute(
    `INSERT INTO library_process (organization_id, worker_key, name, description) VALUES ($1, $2, $3, $4)
     ON CONFLICT (organization_id, worker_key)
     DO UPDATE SET name = excluded.name, description = excluded.description, updated_at = muster_now()`,
    [organizationId, workerKey, name, description],
  );
  audit(tx, caller, {
    action: 'process.put',
    target: { type: 'library_process', id: workerKey },
    changes: { name, description },
  });
  const [row] = await tx.query<ProcessRow>(`${select} WHERE l.organization_id = $1 AND l.worker_key = $2`, [
    organizationId,
    workerKey,
  ]);
  return row!;
}

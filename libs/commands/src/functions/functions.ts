import { audit, type Principal } from '@muster/access';
import { AppError, type CreateFunctionBody, notFoundError, type UpdateFunctionBody } from '@muster/contracts';
import {
  type AgentFunctionEntity,
  type Database,
  limitPageSizeSql,
  type Transaction,
  getViolatedConstraint,
} from '@muster/database';
import { newId, type Page } from '@muster/platform';

export type FunctionRow = Pick<
  AgentFunctionEntity,
  'id' | 'name' | 'description' | 'parameters' | 'code' | 'createdAt' | 'updatedAt'
>;

const columns = `id, name, description, parameters, code, created_at, updated_at`;

export function listFunctions(database: Database, organizationId: string, page: Page): Promise<FunctionRow[]> {
  return database.query<FunctionRow & Record<string, unknown>>(
    { organizationId },
    limitPageSizeSql(
      `SELECT ${columns} FROM agent_function
       WHERE organization_id = $1 AND ($2::text IS NULL OR name > $2) ORDER BY name LIMIT $3`,
      { order: 'name', bytes: 'octet_length(code) + octet_length(parameters::text)' },
    ),
    [organizationId, page.after?.[0] ?? null, page.limit + 1],
    'list_functions',
  );
}

/** Finds a stored function by its id or its name. */
export async function findFunction(
  tx: Transaction,
  organizationId: string,
  { id, name }: { id?: string; name?: string },
): Promise<FunctionRow> {
  const [row] = await tx.query<FunctionRow>(
    `SELECT ${columns} FROM agent_function
     WHERE organization_id = $1 AND ($2::uuid IS NULL OR id = $2) AND ($3::text IS NULL OR name = $3)
       AND NOT ($2::uuid IS NULL AND $3::text IS NULL)`,
    [organizationId, id ?? null, name ?? null],
    'find_function',
  );
  if (!row) throw notFoundError('function');
  return row;
}

export async function createFunction(
  tx: Transaction,
  caller: Principal,
  { name, description = '', parameters = {}, code }: CreateFunctionBody,
): Promise<FunctionRow> {
  const id = newId();
  const [row] = await throwIfNameTaken(() =>
    tx.query<FunctionRow>(
      `INSERT INTO agent_function (id, organization_id, name, description, parameters, code)
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${columns}`,
      [id, caller.organizationId, name, description, JSON.stringify(parameters), code],
    ),
  );
  audit(tx, caller, { action: 'function.create', target: { type: 'function', id }, changes: { name } });
  return row!;
}

export async function updateFunction(
  tx: Transaction,
  caller: Principal,
  id: string,
  { name, description, parameters, code }: UpdateFunctionBody,
): Promise<FunctionRow> {
  const [row] = await throwIfNameTaken(() =>
    tx.query<FunctionRow>(
      `UPDATE agent_function
       SET name = COALESCE($3, name), description = COALESCE($4, description),
           parameters = COALESCE($5, parameters), code = COALESCE($6, code), updated_at = muster_now()
       WHERE id = $1 AND organization_id = $2 RETURNING ${columns}`,
      [
        id,
        caller.organizationId,
        name ?? null,
        description ?? null,
        parameters === undefined ? null : JSON.stringify(parameters),
        code ?? null,
      ],
    ),
  );
  if (!row) throw notFoundError('function');
  const changed = Object.entries({ name, description, parameters, code }).filter(([, value]) => value !== undefined);
  audit(tx, caller, {
    action: 'function.update',
    target: { type: 'function', id },
    changes: { fields: changed.map(([field]) => field) },
  });
  return row;
}

/** Deletes a stored function. Commands that were issued with the function keep its code. */
export async function deleteFunction(tx: Transaction, caller: Principal, id: string): Promise<void> {
  const touched = await tx.execute('DELETE FROM agent_function WHERE id = $1 AND organization_id = $2', [
    id,
    caller.organizationId,
  ]);
  if (touched === 0) throw notFoundError('function');
  audit(tx, caller, { action: 'function.delete', target: { type: 'function', id } });
}

async function throwIfNameTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (getViolatedConstraint(error) !== 'agent_function_name_key') throw error;
    throw new AppError('conflict', {
      detail: 'A function with this name already exists. Change it, or use another name.',
      errors: [{ field: 'name', message: 'name is taken' }],
    });
  }
}

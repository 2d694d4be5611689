import { audit, type Principal, describeCaller } from '@muster/access';
import { invalidFieldError, type SaveWorkflowBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { toEtag, requireEtagMatch } from '@muster/platform';
import { requireValidSteps } from './check-steps';
import { requireVariableNames } from './check-variables';
import { lockWorkflow, type WorkflowRow } from './workflow-row';

/** Saves a new revision; launched jobs keep theirs. Fields that the body leaves out stay unchanged. */
export async function saveWorkflow(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: SaveWorkflowBody,
  { ifMatch, restoredFrom }: { ifMatch?: string; restoredFrom?: number } = {},
): Promise<WorkflowRow> {
  if (body.script === undefined && body.steps === undefined && body.variables === undefined) {
    throw invalidFieldError(
      'script',
      'one of script, steps and variables is required',
      'The request contains nothing to save. Send script, steps or variables.',
    );
  }
  const before = await lockWorkflow(tx, caller.organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { script = before.script, steps = before.steps, variables = before.variables } = body;
  if (body.variables) requireVariableNames(variables);
  // Restored steps, and steps that the save does not change, are not validated, because they may have been saved under
  // older rules.
  if (body.steps && restoredFrom === undefined) requireValidSteps(steps);
  const revision = before.revision + 1;
  await tx.execute(
    `INSERT INTO workflow_revision
       (workflow_id, revision, organization_id, variables, script, steps, restored_from, saved_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      id,
      revision,
      caller.organizationId,
      variables,
      script,
      JSON.stringify(steps),
      restoredFrom ?? null,
      describeCaller(caller),
    ],
  );
  await tx.execute(
    'UPDATE workflow SET revision = $2, version = version + 1, updated_at = muster_now() WHERE id = $1 AND revision ' +
      '= $3',
    [id, revision, before.revision],
  );
  audit(tx, caller, {
    action: restoredFrom === undefined ? 'workflow.save' : 'workflow.restore',
    target: { type: 'workflow', id },
    changes: { revision: [before.revision, revision], ...(restoredFrom === undefined ? {} : { restoredFrom }) },
  });
  return lockWorkflow(tx, caller.organizationId, id);
}

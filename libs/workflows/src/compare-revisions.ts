import { notFoundError } from '@muster/contracts';
import { computeEdits, formatUnifiedDiff } from '@muster/contracts/text-diff';
import type { Database, WorkflowRevisionEntity } from '@muster/database';
import { isDeepStrictEqual } from 'node:util';
import { findWorkflow } from './workflow-row';

type Step = Record<string, unknown>;

export interface RevisionDifference {
  revision: number;
  against: number;
  /** Difference of the scripts, in the format of `diff -u`. */
  script: string;
  steps: { added: Step[]; removed: Step[]; changed: { id: string; before: Step; after: Step }[]; moved: string[] };
  variables: { added: string[]; removed: string[] };
}

type Content = Pick<WorkflowRevisionEntity, 'revision' | 'variables' | 'script' | 'steps'>;

/** Compares a revision with another one, by default with the previous one. */
export async function compareRevisions(
  database: Database,
  organizationId: string,
  { id, revision, against = Math.max(1, revision - 1) }: { id: string; revision: number; against?: number },
): Promise<RevisionDifference> {
  await findWorkflow(database, organizationId, id);
  const rows = await database.query<Content>(
    { organizationId },
    `SELECT revision, variables, script, steps FROM workflow_revision
     WHERE workflow_id = $1 AND organization_id = $2 AND revision = ANY($3)`,
    [id, organizationId, [revision, against]],
  );
  const after = rows.find((row) => row.revision === revision);
  const before = rows.find((row) => row.revision === against);
  if (!after || !before) throw notFoundError('workflow');
  return {
    revision,
    against,
    script: formatUnifiedDiff(before.script, after.script, {
      before: `revision ${against}`,
      after: `revision ${revision}`,
    }),
    steps: compareStepsOfRevisions(before.steps, after.steps),
    variables: {
      added: after.variables.filter((name) => !before.variables.includes(name)),
      removed: before.variables.filter((name) => !after.variables.includes(name)),
    },
  };
}

/** Compares steps by their ids. A step is moved if its position among the steps of both revisions has changed. */
function compareStepsOfRevisions(before: Step[], after: Step[]): RevisionDifference['steps'] {
  const old = indexStepsById(before);
  const now = indexStepsById(after);
  const listStepOrder = (steps: Map<string, Step>, others: Map<string, Step>) =>
    [...steps.keys()].filter((id) => others.has(id));
  const [was, is] = [listStepOrder(old, now), listStepOrder(now, old)];
  return {
    added: after.filter((step) => !old.has(getStepId(step))),
    removed: before.filter((step) => !now.has(getStepId(step))),
    changed: is
      .filter((id) => !isDeepStrictEqual(old.get(id), now.get(id)))
      .map((id) => ({ id, before: old.get(id)!, after: now.get(id)! })),
    moved: computeEdits(was, is).flatMap(({ kind, line }) => (kind === '+' ? [line] : [])),
  };
}

function indexStepsById(steps: Step[]): Map<string, Step> {
  return new Map(steps.map((step) => [getStepId(step), step]));
}

function getStepId(step: Step): string {
  return String(step['id']);
}

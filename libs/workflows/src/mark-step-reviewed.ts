import type { Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { writeReviewGuard } from './recordings/write-script';
import { saveWorkflow } from './save-workflow';
import { lockWorkflow, type WorkflowRow } from './workflow-row';

/** Confirms a reviewed step of a draft: runs no longer stop before it. A confirmed step can be confirmed again. */
export async function markStepReviewed(
  tx: Transaction,
  caller: Principal,
  { id, stepId, ifMatch }: { id: string; stepId: string; ifMatch?: string },
): Promise<WorkflowRow> {
  const before = await lockWorkflow(tx, caller.organizationId, id);
  const step = before.steps.find((each) => each['id'] === stepId);
  if (!step)
    throw new AppError('not_found', {
      detail: 'The workflow has no step with this id. Read the workflow to find the id.',
    });
  if (step['review'] !== 'needed' && step['review'] !== 'confirmed') {
    throw new AppError('conflict', { detail: 'The step is not marked for review, so it cannot be confirmed.' });
  }
  const steps = before.steps.map((each) => (each === step ? { ...each, review: 'confirmed' } : each));
  const script = before.script.replace(`${writeReviewGuard(step)}\n`, '');
  return saveWorkflow(tx, caller, id, { steps, script }, { ifMatch });
}

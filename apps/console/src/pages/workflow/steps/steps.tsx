import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../../api/api-error';
import { type Workflow, workflowsConfirm } from '../../../api/generated';
import type { Versioned } from '../../../api/versioned';
import { escapeDirectionMarks } from '../../../format/one-direction';
import { Button } from '../../../ui/button';
import { ActionMenu } from '../../../ui/menu';
import { EmptyNote, Panel } from '../../../ui/page';
import { showToast, showErrorToast } from '../../../ui/toast';
import type { Editing, Step } from '../use-editing';
import { ReviewMark } from './review-mark';
import { StepDialog } from './step-dialog';
import { summarizeStep, getStepId, getStepTitle } from './step-words';

interface StepsProps {
  workflow: Versioned<Workflow>;
  editing: Editing;
  mayEdit: boolean;
}

/** The steps of a workflow. Changes are saved with the rest of the revision. */
export function Steps({ workflow, editing, mayEdit }: StepsProps) {
  const { steps } = editing.content;
  const [edited, setEdited] = useState<Edited | null>(null);
  const confirm = useConfirmStep(workflow);
  const editSteps = (next: Step[]) => editing.edit({ steps: next });
  const waiting = steps.filter((step) => step['review'] === 'needed').length;
  return (
    <Panel title="Steps" actions={mayEdit && <Button onClick={() => setEdited({ at: steps.length })}>Add step</Button>}>
      {waiting > 0 && (
        <p className="mb-2 rounded-control bg-warn-soft p-2.5">
          {waiting === 1 ? 'One step needs' : `${waiting} steps need`} a review. A run stops before a step that is not
          confirmed.
        </p>
      )}
      {steps.length === 0 && <EmptyNote title="The workflow has no steps. Runs use its script." />}
      {steps.length > 0 && editing.content.script.trim() !== '' && (
        <p className="mb-1 text-xs text-dim">
          Runs use the script, not these steps. Without a script, they would use the steps.
        </p>
      )}
      <ol className="flex flex-col divide-y divide-line">
        {steps.map((step, at) => (
          <li key={getStepId(step) || at} data-testid="workflow-step" className="flex items-start gap-2 py-1.5">
            <span className="w-6 shrink-0 text-right text-dim tabular-nums">{at + 1}</span>
            <div className="min-w-0 grow">
              <bdi className="font-medium [overflow-wrap:anywhere]">{getStepTitle(step)}</bdi>{' '}
              <bdi className="font-mono text-xs break-all text-dim">{escapeDirectionMarks(summarizeStep(step))}</bdi>
              <ReviewMark
                step={step}
                frameUrl={workflow.steps.find((each) => getStepId(each) === getStepId(step))?.['frameUrl']}
                confirm={mayEdit ? () => confirm(getStepId(step)) : undefined}
                off={editing.isChanged && 'Save or discard your changes first.'}
              />
            </div>
            {mayEdit && (
              <ActionMenu
                name={`step ${at + 1}`}
                actions={[
                  { label: 'Edit', run: () => setEdited({ at, step }) },
                  {
                    label: 'Move up',
                    off: at === 0 && 'This is the first step.',
                    run: () => editSteps(moveStep(steps, at, at - 1)),
                  },
                  {
                    label: 'Move down',
                    off: at === steps.length - 1 && 'This is the last step.',
                    run: () => editSteps(moveStep(steps, at, at + 1)),
                  },
                  { label: 'Remove', danger: true, run: () => editSteps(steps.filter((_, place) => place !== at)) },
                ]}
              />
            )}
          </li>
        ))}
      </ol>
      {edited !== null && (
        <StepDialog
          step={edited.step}
          others={steps.filter((step) => !edited.step || getStepId(step) !== getStepId(edited.step))}
          close={() => setEdited(null)}
          done={(step) => editSteps(replaceStep(steps, edited, step))}
        />
      )}
    </Panel>
  );
}

/** The edited step and its position. The step is undefined while a new one is added. */
interface Edited {
  at: number;
  step?: Step;
}

/** Replaces the edited step at its current position, which another user's save may have changed. */
function replaceStep(steps: Step[], { at, step: before }: Edited, step: Step): Step[] {
  const place =
    before &&
    steps.findIndex((each, index) => (getStepId(before) ? getStepId(each) === getStepId(before) : index === at));
  if (place === undefined || place < 0) return [...steps.slice(0, at), step, ...steps.slice(at)];
  return [...steps.slice(0, place), step, ...steps.slice(place + 1)];
}

/** Confirms a step. The service refuses that if the workflow has changed since the step was displayed. */
function useConfirmStep({ id, etag }: Versioned<Workflow>): (stepId: string) => Promise<void> {
  const client = useQueryClient();
  return async (step) => {
    try {
      const headers = { 'If-Match': etag };
      await workflowsConfirm({ path: { id, step }, body: { review: 'confirmed' }, headers });
      showToast('The step is confirmed.');
    } catch (error) {
      if (isApiError(error, 'precondition_failed'))
        showToast('Another user has changed the workflow. Check the step again.');
      else showErrorToast(error);
    }
    await client.invalidateQueries({ queryKey: ['workflow', id] });
  };
}

function moveStep(steps: Step[], from: number, to: number): Step[] {
  const others = steps.filter((_, at) => at !== from);
  return [...others.slice(0, to), steps[from]!, ...others.slice(to)];
}

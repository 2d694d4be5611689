import type { Actor } from '@muster/access';
import { createWorkflow, writeLearnedScript } from '@muster/workflows';
import type { Work } from '../steps/work';
import { requireTaskOfSession } from '../steps/work';

/** Creates a workflow without a model from what a completed session has learned. Returns the workflow's id. */
export async function createWorkflowFromSession({ tx, session, steps }: Work): Promise<string> {
  const task = requireTaskOfSession(session);
  const name = session.workflowName ?? task.title;
  const done = steps.flatMap((step) => {
    const { id, title, expect } = task.steps[step.position]!;
    if (step.status === 'skipped') return [];
    const code = step.stableCode ?? (step.byHand ? null : '');
    return [{ id, title, code, expect: expect ?? undefined, extractedNames: Object.keys(step.extracted) }];
  });
  const script = writeLearnedScript({ name, startUrl: task.startUrl ?? undefined, steps: done });
  const workflow = await createWorkflow(tx, getSessionStarter(session), {
    name,
    description: task.goal,
    variables: listInputNames(session),
    script,
    steps: done.map(({ id, title, code }) => ({
      id,
      type: 'python',
      title,
      code: code === null ? byHand : code || 'pass',
    })),
  });
  return workflow.id;
}

const byHand = `raise RuntimeError('A person did this step in its session: there is no code for it yet.')`;

/**
 * Returns the names of the session's inputs, those of the task first. Vault keys are left out, because each run gets
 * them separately.
 */
function listInputNames(session: Work['session']): string[] {
  const inputNames = Object.keys(session.inputs);
  return [
    ...new Set([...requireTaskOfSession(session).inputs.filter((name) => inputNames.includes(name)), ...inputNames]),
  ];
}

/** Returns the caller that started the session; the workflow is created in its name. */
function getSessionStarter({ askedBy, organizationId }: Work['session']): Actor {
  return { ...askedBy, organizationId };
}

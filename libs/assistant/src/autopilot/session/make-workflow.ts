import type { Actor } from '@muster/access';
import { createWorkflow, writeLearnedScript } from '@muster/workflows';
import type { Work } from '../steps/work';
import { taskOf } from '../steps/work';

/** What a finished session has learned, as a workflow that needs no model. Answers its id. */
export async function makeWorkflow({ tx, session, steps }: Work): Promise<string> {
  const task = taskOf(session);
  const name = session.workflowName ?? task.title;
  const done = steps.flatMap((step) => {
    const { id, title, expect } = task.steps[step.position]!;
    if (step.status === 'skipped') return [];
    const code = step.byHand ? null : (step.stableCode ?? '');
    return [{ id, title, code, expect: expect ?? undefined, extractedNames: Object.keys(step.extracted) }];
  });
  const script = writeLearnedScript({ name, startUrl: task.startUrl ?? undefined, steps: done });
  const workflow = await createWorkflow(tx, askerOf(session), {
    name,
    description: task.goal,
    variables: variablesOf(session),
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

const byHand = `raise RuntimeError('This step was done by hand in its session: nobody has taught it yet.')`;

/** In the task's order, and then what was given beside it; what the vault has is given to each run. */
function variablesOf(session: Work['session']): string[] {
  const given = Object.keys(session.inputs);
  return [...new Set([...taskOf(session).inputs.filter((name) => given.includes(name)), ...given])];
}

/** Whoever began the session made the workflow. */
function askerOf({ askedBy, organizationId }: Work['session']): Actor {
  return { ...askedBy, organizationId };
}

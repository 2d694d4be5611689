import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, type AutopilotTask, type TaskPlan } from '@muster/contracts';
import { ModelFault, type ModelPort, type ModelUsage } from '@muster/models';
import { parseTask } from './check-task';
import { planSchema, taskSchema } from './task-schemas';

const taskPrompt = readFileSync(join(__dirname, '../prompts/task.md'), 'utf8');
const planPrompt = readFileSync(join(__dirname, '../prompts/plan.md'), 'utf8');

/** Asks the model for a task that fulfils a person's intent. */
export async function generateTask(
  model: Pick<ModelPort, 'answerStructured'>,
  intent: string,
): Promise<{ task: AutopilotTask; usage: ModelUsage }> {
  const { value, usage } = await model.answerStructured<unknown>({
    name: 'autopilot_task',
    schema: taskSchema,
    messages: [
      { role: 'system', content: taskPrompt },
      { role: 'user', content: JSON.stringify({ intent }) },
    ],
  });
  return { task: convertErrorToModelFailure(usage, () => parseTask(value)), usage };
}

/** Asks the model for one task that does what a script does and also what the script lacks. */
export async function generatePlanFromScript(
  model: Pick<ModelPort, 'answerStructured'>,
  { script, gap = '' }: { script: string; gap?: string },
): Promise<TaskPlan> {
  const { value, usage } = await model.answerStructured<TaskPlan>({
    name: 'autopilot_plan',
    schema: planSchema,
    messages: [
      { role: 'system', content: planPrompt },
      { role: 'user', content: JSON.stringify({ gap, untrustedScript: script }) },
    ],
  });
  return convertErrorToModelFailure(usage, () => {
    const task = parseTask(value.task);
    const stepIds = new Set(task.steps.map(({ id }) => id));
    const unknown = [...value.kept, ...value.added].find((id) => !stepIds.has(id));
    if (unknown !== undefined) throw new AppError('invalid_payload', { detail: `The plan has no step ${unknown}.` });
    const { kept: existing, added, notes } = value;
    // eslint-disable-next-line id-denylist -- A field of the API.
    return { task, kept: [...new Set(existing)], added: [...new Set(added)], notes: notes.slice(0, 10_000) };
  });
}

/** Turns an invalid answer into a model failure with its usage: the request was valid, and the call must be paid. */
function convertErrorToModelFailure<T>(usage: ModelUsage, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new ModelFault('nonsense', `The model’s answer is not a valid task: ${error.message}`, usage);
  }
}

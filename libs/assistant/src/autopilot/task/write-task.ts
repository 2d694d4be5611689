import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, type AutopilotTask, type TaskPlan } from '@muster/contracts';
import { ModelFault, type ModelPort, type ModelUsage } from '@muster/models';
import { readTask } from './check-task';
import { planSchema, taskSchema } from './task-schemas';

const taskPrompt = readFileSync(join(__dirname, '../prompts/task.md'), 'utf8');
const planPrompt = readFileSync(join(__dirname, '../prompts/plan.md'), 'utf8');

/** A task from what somebody wants, in plain words. */
export async function writeTask(
  model: Pick<ModelPort, 'structured'>,
  intent: string,
): Promise<{ task: AutopilotTask; usage: ModelUsage }> {
  const { value, usage } = await model.structured<unknown>({
    name: 'autopilot_task',
    schema: taskSchema,
    messages: [
      { role: 'system', content: taskPrompt },
      { role: 'user', content: JSON.stringify({ intent }) },
    ],
  });
  return { task: asModelFault(usage, () => readTask(value)), usage };
}

/** What a script does already and what it lacks, as one task. */
export async function planFromScript(
  model: Pick<ModelPort, 'structured'>,
  { script, gap = '' }: { script: string; gap?: string },
): Promise<TaskPlan> {
  const { value, usage } = await model.structured<TaskPlan>({
    name: 'autopilot_plan',
    schema: planSchema,
    messages: [
      { role: 'system', content: planPrompt },
      { role: 'user', content: JSON.stringify({ gap, untrustedScript: script }) },
    ],
  });
  return asModelFault(usage, () => {
    const task = readTask(value.task);
    const known = new Set(task.steps.map(({ id }) => id));
    const unknown = [...value.kept, ...value.added].find((id) => !known.has(id));
    if (unknown !== undefined) throw new AppError('invalid_payload', { detail: `The plan has no step ${unknown}.` });
    const { kept, added, notes } = value;
    return { task, kept: [...new Set(kept)], added: [...new Set(added)], notes: notes.slice(0, 10_000) };
  });
}

/** What is wrong with a model's words is no fault of the request; and they were paid for. */
function asModelFault<T>(usage: ModelUsage, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new ModelFault('nonsense', `What the model answered is no task: ${error.message}`, usage);
  }
}

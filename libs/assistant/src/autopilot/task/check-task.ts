import {
  AppError,
  type AutopilotTask,
  Faults,
  type FieldError,
  AutopilotTask as Task,
  readFields,
  checkVariableName,
  type TaskExpectation,
} from '@muster/contracts';

/**
 * Throws invalid_payload with all errors of a task. Checks only the rules that the types of its fields cannot express.
 */
export function requireValidTask(task: AutopilotTask): void {
  const errors = listTaskErrors(task);
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

/** Reads a task that a model wrote, with the rules for a person's task. Throws invalid_payload with all errors. */
export function parseTask(value: unknown): AutopilotTask {
  const faults = new Faults();
  const plain = removeNullFields(value);
  if (typeof plain !== 'object' || plain === null)
    throw new AppError('invalid_payload', { detail: 'A task must be an object.' });
  const task = readFields(Task, plain, { faults, path: '', unknown: 'refuse' });
  const errors = faults.isEmpty ? listTaskErrors(task) : faults.errors;
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  return task;
}

function listTaskErrors({ steps, inputs, success, startUrl }: AutopilotTask): FieldError[] {
  const ids = new Set<string>();
  const prefix = 'task';
  return [
    ...(startUrl && !URL.canParse(startUrl)
      ? [{ field: `${prefix}.startUrl`, message: 'startUrl must be an http or https URL' }]
      : []),
    ...inputs.flatMap((name, at) => {
      const message = checkVariableName(name);
      return message ? [{ field: `${prefix}.inputs.${at}`, message }] : [];
    }),
    ...steps.flatMap(({ id, expect }, at) => {
      const twin = ids.has(id);
      ids.add(id);
      return [
        ...(twin ? [{ field: `${prefix}.steps.${at}.id`, message: `two steps have the id ${id}` }] : []),
        ...checkStepExpectation(expect, `${prefix}.steps.${at}.expect`),
      ];
    }),
    ...checkStepExpectation(success.check, `${prefix}.success.check`),
  ];
}

function checkStepExpectation(expect: TaskExpectation | null | undefined, field: string): FieldError[] {
  if (!expect || Object.values(expect).some((value) => value !== undefined)) return [];
  return [{ field, message: 'an expectation needs url, text, notText or selector' }];
}

/** Removes nulls: the strict schema makes a model send every key, with null for an absent value. */
function removeNullFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeNullFields);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  const plain = Object.fromEntries(present.map(([key, inner]) => [key, removeNullFields(inner)]));
  return plain;
}

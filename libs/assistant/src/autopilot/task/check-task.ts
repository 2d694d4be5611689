import {
  AppError,
  type AutopilotTask,
  Faults,
  type FieldError,
  AutopilotTask as Task,
  readFields,
  refusedVariableName,
  type TaskExpectation,
} from '@muster/contracts';

/** Throws all that a task's fields alone do not show. */
export function requireTask(task: AutopilotTask): void {
  const errors = faultsOf(task);
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

/** A task as a model wrote it, by the same rules as a person's; throws what is wrong with it. */
export function readTask(given: unknown): AutopilotTask {
  const faults = new Faults();
  const plain = withoutNulls(given);
  if (typeof plain !== 'object' || plain === null) throw new AppError('invalid_payload', { detail: 'It is no task.' });
  const task = readFields(Task, plain, { faults, path: '', unknown: 'refuse' });
  const errors = faults.none ? faultsOf(task) : faults.errors;
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  return task;
}

function faultsOf({ steps, inputs, success, startUrl }: AutopilotTask): FieldError[] {
  const seen = new Set<string>();
  const prefix = 'task';
  return [
    ...(startUrl && !URL.canParse(startUrl)
      ? [{ field: `${prefix}.startUrl`, message: 'startUrl must be an address of http or https' }]
      : []),
    ...inputs.flatMap((name, at) => {
      const message = refusedVariableName(name);
      return message ? [{ field: `${prefix}.inputs.${at}`, message }] : [];
    }),
    ...steps.flatMap(({ id, expect }, at) => {
      const twin = seen.has(id);
      seen.add(id);
      return [
        ...(twin ? [{ field: `${prefix}.steps.${at}.id`, message: `two steps have the id ${id}` }] : []),
        ...expectationFaults(expect, `${prefix}.steps.${at}.expect`),
      ];
    }),
    ...expectationFaults(success.check, `${prefix}.success.check`),
  ];
}

function expectationFaults(expect: TaskExpectation | null | undefined, field: string): FieldError[] {
  if (!expect || Object.values(expect).some((value) => value !== undefined)) return [];
  return [{ field, message: 'an expectation needs url, text, notText or selector' }];
}

/** On the model's wire every key is there, and null where it says nothing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  const plain = Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
  return plain;
}

import type { Principal } from '@muster/access';
import { AppError, refusedVariableName, shortened } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { Logger } from '@nestjs/common';
import type { ObjectStorage } from '@muster/storage';
import type { Step } from '../check-steps';
import { placeholdersIn } from '../check-variables';
import { createWorkflow } from '../create-workflow';
import type { WorkflowRow } from '../workflow-row';
import type { Recording } from './read-recording';
import { writeScript } from './write-script';

const maxScriptLength = 1_000_000;

export interface PreparedUpload {
  id: string;
  name: string;
  /** As they are to be kept, with the keys of their screenshots. */
  steps: Step[];
  script: string;
  variables: string[];
  objects: { key: string; bytes: Buffer; contentType: string }[];
}

/** All that a recording becomes, before anything is written down. */
export function prepareUpload(
  recording: Recording,
  { organizationId, name }: { organizationId: string; name?: string },
): PreparedUpload {
  const id = newId();
  const named = name ?? (shortened(recording.title, 200) || 'Recording');
  const objects = recording.screenshots.map(({ bytes, contentType }, at) => ({
    key: `workflows/${organizationId}/${id}/${at + 1}.${contentType.split('/')[1]}`,
    bytes,
    contentType,
  }));
  const keys = objects.map(({ key }) => key);
  const script = writeScript({ name: named, steps: recording.steps, timeoutMs: recording.timeoutMs });
  if (script.length > maxScriptLength) {
    throw new AppError('payload_too_large', {
      detail: 'The recording makes a script of more than 1,000,000 characters.',
    });
  }
  // Names that the worker keeps for itself stay what they are in the text, and are warned of.
  const secrets = placeholdersIn(JSON.stringify(recording.steps.filter(isSecret)));
  const variables = placeholdersIn(JSON.stringify(recording.steps)).filter(
    (each) => !refusedVariableName(each) && !secrets.includes(each),
  );
  return { id, name: named, steps: withScreenshots(recording, keys), script, variables, objects };
}

/** The workflow of a recording. */
export function storeUpload(
  tx: Transaction,
  caller: Principal,
  { id, name, steps, script, variables }: PreparedUpload,
): Promise<WorkflowRow> {
  return createWorkflow(tx, caller, { name, variables, script, steps }, id);
}

/** What was typed there was a password: a run's variables can be read, its vault keys cannot. */
function isSecret({ metadata }: Step): boolean {
  return (metadata as { secret?: unknown } | undefined)?.secret === true;
}

const atOnce = 8;

/** Keeps the screenshots while the workflow is made, which may come to nothing: then they go again. */
export async function keepingScreenshots<T extends { id: string }>(
  storage: ObjectStorage,
  { id, objects }: PreparedUpload,
  make: () => Promise<T>,
): Promise<T> {
  let kept = false;
  try {
    for (let from = 0; from < objects.length; from += atOnce) {
      const some = objects.slice(from, from + atOnce);
      await Promise.all(some.map(({ key, bytes, contentType }) => storage.put(key, bytes, contentType))).catch(
        (cause: unknown) => {
          throw new AppError('service_unavailable', { detail: 'The screenshots cannot be kept at the moment.', cause });
        },
      );
    }
    const made = await make();
    // A repeat of the request answers the workflow that the first one made.
    kept = made.id === id;
    return made;
  } finally {
    if (!kept) await forget(storage, objects);
  }
}

const logger = new Logger('UploadRecording');

/** What is left behind is unreachable and costs a few bytes. */
async function forget(storage: ObjectStorage, objects: PreparedUpload['objects']): Promise<void> {
  for (const { key } of objects) {
    await storage.delete(key).catch((error: Error) => logger.warn(`${key} stays: ${error.message}`));
  }
}

/** A file with a step's number in its name is that step's; what has none is of the first. */
function withScreenshots({ steps, screenshots }: Recording, keys: string[]): Step[] {
  const byStep = new Map<number, string[]>();
  for (const [at, { name }] of screenshots.entries()) {
    const number = Number(
      /(\d+)\D*$/.exec(
        name
          .split('/')
          .at(-1)!
          .replace(/\.[a-z]+$/i, ''),
      )?.[1] ?? 1,
    );
    const step = number >= 1 && number <= steps.length ? number : 1;
    byStep.set(step, [...(byStep.get(step) ?? []), keys[at]!]);
  }
  return steps.map((step, at) => {
    const own = byStep.get(at + 1);
    return own ? { ...step, metadata: { ...(step['metadata'] as object), screenshots: own } } : step;
  });
}

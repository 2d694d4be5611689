import type { Principal } from '@muster/access';
import { AppError, checkVariableName, shortenText } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { Logger } from '@nestjs/common';
import type { ObjectStorage } from '@muster/storage';
import type { Step } from '../check-steps';
import { findPlaceholders } from '../check-variables';
import { createWorkflow } from '../create-workflow';
import type { WorkflowRow } from '../workflow-row';
import type { Recording } from './read-recording';
import { writeScript } from './write-script';

const maxScriptLength = 1_000_000;

export interface PreparedUpload {
  id: string;
  name: string;
  /** The steps to store, with the keys of their screenshots. */
  steps: Step[];
  script: string;
  variables: string[];
  objects: { key: string; bytes: Buffer; contentType: string }[];
}

/** Prepares everything that is stored for a recording. Stores nothing yet. */
export function prepareRecordingUpload(
  recording: Recording,
  { organizationId, name }: { organizationId: string; name?: string },
): PreparedUpload {
  const id = newId();
  const named = name ?? (shortenText(recording.title, 200) || 'Recording');
  const objects = recording.screenshots.map(({ bytes, contentType }, at) => ({
    key: `workflows/${organizationId}/${id}/${at + 1}.${contentType.split('/')[1]}`,
    bytes,
    contentType,
  }));
  const keys = objects.map(({ key }) => key);
  const script = writeScript({ name: named, steps: recording.steps, timeoutMs: recording.timeoutMs });
  if (script.length > maxScriptLength) {
    throw new AppError('payload_too_large', {
      detail: 'The script of the recording would have more than 1,000,000 characters. Upload a shorter recording.',
    });
  }
  // Names that the worker reserves do not become variables. They stay in the text, and the workflow gets a warning.
  const secrets = findPlaceholders(JSON.stringify(recording.steps.filter(isSecretStep)));
  const variables = findPlaceholders(JSON.stringify(recording.steps)).filter(
    (each) => !checkVariableName(each) && !secrets.includes(each),
  );
  return { id, name: named, steps: addScreenshotsToSteps(recording, keys), script, variables, objects };
}

/** Creates the workflow of a recording. */
export function createWorkflowFromUpload(
  tx: Transaction,
  caller: Principal,
  { id, name, steps, script, variables }: PreparedUpload,
): Promise<WorkflowRow> {
  return createWorkflow(tx, caller, { name, variables, script, steps }, id);
}

/** Whether a password was typed in the step. Then a run gets it as a secret, because its variables can be read. */
function isSecretStep({ metadata }: Step): boolean {
  return (metadata as { secret?: unknown } | undefined)?.secret === true;
}

const uploadConcurrency = 8;

/** Stores the screenshots before the workflow is created. Deletes them again if that fails. */
export async function storeScreenshotsWhile<T extends { id: string }>(
  storage: ObjectStorage,
  { id, objects }: PreparedUpload,
  make: () => Promise<T>,
): Promise<T> {
  let isCreated = false;
  try {
    for (let from = 0; from < objects.length; from += uploadConcurrency) {
      const some = objects.slice(from, from + uploadConcurrency);
      await Promise.all(some.map(({ key, bytes, contentType }) => storage.put(key, bytes, contentType))).catch(
        (cause: unknown) => {
          throw new AppError('service_unavailable', {
            detail: 'The screenshots could not be stored. Try again later.',
            cause,
          });
        },
      );
    }
    const workflow = await make();
    // A repeated request returns the workflow of the first request.
    isCreated = workflow.id === id;
    return workflow;
  } finally {
    if (!isCreated) await deleteStoredObjects(storage, objects);
  }
}

const logger = new Logger('UploadRecording');

/** Deletes objects. An object that cannot be deleted is unreachable and costs a few bytes. */
async function deleteStoredObjects(storage: ObjectStorage, objects: PreparedUpload['objects']): Promise<void> {
  for (const { key } of objects) {
    await storage
      .delete(key)
      .catch((error: Error) => logger.warn(`could not delete the screenshot ${key}: ${error.message}`));
  }
}

/** Adds each screenshot to the step whose number is in its file name, or to the first step. */
function addScreenshotsToSteps({ steps, screenshots }: Recording, keys: string[]): Step[] {
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

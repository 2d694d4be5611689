import { microsToUsdOrNull, type Workflow } from '@muster/contracts';
import type { ObjectStorage } from '@muster/storage';
import { type Step, listVariableWarnings, type WorkflowRow } from '@muster/workflows';

const shownSeconds = 3600;

/** Includes presigned URLs of the video frames of the steps, valid for an hour. */
export async function presentWorkflow(
  storage: ObjectStorage,
  organizationId: string,
  row: WorkflowRow,
): Promise<Workflow> {
  const steps = await Promise.all(row.steps.map((step) => addFrameUrl(storage, organizationId, step)));
  const { source, script, concurrencyKeys, accounts, sensitiveVariables, sensitiveResults } = row;
  return {
    ...presentWorkflowSummary(row),
    concurrencyKeys,
    accounts,
    sensitiveVariables,
    sensitiveResults,
    source,
    script,
    steps,
    warnings: listVariableWarnings(row),
  };
}

type HiddenInLists =
  'script' | 'steps' | 'source' | 'concurrencyKeys' | 'accounts' | 'sensitiveVariables' | 'sensitiveResults';

export function presentWorkflowSummary(row: Omit<WorkflowRow, HiddenInLists>) {
  const { id, name, description, variables, revision, createdAt, updatedAt } = row;
  return {
    id,
    name,
    description,
    maxCostUsd: microsToUsdOrNull(row.maxCostMicros),
    workflowPackInstallationId: row.workflowPackInstallationId,
    variables,
    revision,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** Users can save any `frameKey`, so only frames of the organization's own videos are presigned. */
async function addFrameUrl(storage: ObjectStorage, organizationId: string, step: Step): Promise<Step> {
  const { frameKey } = step;
  if (frameKey === undefined) return step;
  const isOwn =
    typeof frameKey === 'string' &&
    frameKey.startsWith(`films/${organizationId}/`) &&
    /^films\/[0-9a-f-]{36}\/[0-9a-f-]{36}\/\d{1,3}\.jpg$/.test(frameKey);
  const options = { contentType: 'image/jpeg', expiresInSeconds: shownSeconds };
  return { ...step, frameUrl: isOwn ? await storage.presignGet(frameKey, options).catch(() => null) : null };
}

import { invalidFieldError, type RunBuilderBody } from '@muster/contracts';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { findFunction } from '../functions/functions';

export interface BuilderCommand {
  sessionId: string;
  runRoot: string;
  payload: Record<string, unknown>;
  env: Record<string, string>;
}

const lineageVariables = {
  workflowPackId: 'SERVICE_WORKFLOW_PACK_ID',
  workflowPackVersionId: 'SERVICE_WORKFLOW_PACK_VERSION_ID',
  workflowPackInstallationId: 'SERVICE_WORKFLOW_PACK_INSTALLATION_ID',
  runtimeBundleId: 'SERVICE_RUNTIME_BUNDLE_ID',
  runtimeBundleManifestKey: 'SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY',
} as const;

/**
 * Builds the command for a phase of the workflow builder: the phase's code, a separate folder on the machine, and
 * environment variables with the ids of the pack, its version, its installation and its bundle.
 */
export async function composeBuilderCommand(
  tx: Transaction,
  organizationId: string,
  body: RunBuilderBody,
): Promise<BuilderCommand> {
  const { phase, portal = 'practice', code, serviceBaseUrl } = body;
  const sessionId = newId();
  const runRoot = `builder/${sessionId}`;
  const lineage = Object.entries(lineageVariables).flatMap(([field, variable]) => {
    const value = body[field as keyof typeof lineageVariables];
    return value === undefined ? [] : [[variable, value] as const];
  });
  return {
    sessionId,
    runRoot,
    payload: {
      phase,
      portal,
      code: code ?? (await findPhaseCode(tx, organizationId, portal, phase)),
      sessionId,
      runRoot,
    },
    env: {
      ...Object.fromEntries(lineage),
      ...(serviceBaseUrl ? { SERVICE_BASE_URL: serviceBaseUrl.replace(/\/+$/, '') } : {}),
    },
  };
}

/** Returns the code of the stored function for a portal and a phase. The function's name is built from both. */
async function findPhaseCode(tx: Transaction, organizationId: string, portal: string, phase: string): Promise<string> {
  const name = `builder:${portal}:${phase}`;
  try {
    return (await findFunction(tx, organizationId, { name })).code;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    throw invalidFieldError(
      'phase',
      `phase has no snippet for ${portal}`,
      `There is no snippet for this phase. Send code, or save the snippet as the function ${name}.`,
    );
  }
}

import { isMusterError, type MusterError } from '@muster/sdk';

/** Exit codes: success, a failed run, incorrect usage, and a service that is unreachable or refuses the request. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

/** An error that the user can correct. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly options: { hint?: string; exitCode?: number } = {},
  ) {
    super(message);
    this.name = 'Failure';
  }
}

export function createUsageError(message: string, hint?: string): Failure {
  return new Failure('usage', message, { hint, exitCode: exitCodes.usage });
}

export interface Explained {
  code: string;
  message: string;
  status?: number;
  requestId?: string;
  fields: { field: string; message: string }[];
  /** How the user can correct the error. */
  hint?: string;
  exitCode: number;
}

/** Fields of the current login that an error message can contain. */
interface UsedLogin {
  url: string;
  session?: string;
  email?: string;
}

/** Converts any thrown value to an error message, a hint and an exit code. */
export function explainError(thrown: unknown, login?: UsedLogin): Explained {
  if (isMusterError(thrown)) return explainServiceError(thrown, login);
  if (thrown instanceof Failure) {
    const { hint, exitCode = exitCodes.failed } = thrown.options;
    return { code: thrown.code, message: thrown.message, hint, exitCode, fields: [] };
  }
  if (thrown instanceof TypeError && login) return explainForeignAnswer(login);
  const { code, message, path } = (thrown ?? {}) as NodeJS.ErrnoException;
  const known = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  const explained = (known && path !== undefined && ofFiles[code]?.(path)) || undefined;
  return {
    code: known ? code : 'unexpected',
    message: explained?.message ?? message ?? String(thrown),
    hint: explained?.hint,
    fields: [],
    exitCode: explained?.exitCode ?? exitCodes.failed,
  };
}

/**
 * Returns the error for a response without the expected fields. A command that reads missing fields fails with a
 * TypeError.
 */
function explainForeignAnswer({ url }: UsedLogin): Explained {
  return {
    code: 'not_muster',
    message: describeForeignService(url),
    hint: getAddressHint(url),
    fields: [],
    exitCode: exitCodes.refused,
  };
}

export function describeForeignService(url: string): string {
  return `The server at ${url} is not a Muster service.`;
}

export function getAddressHint(url: string): string {
  return `Check the address: ${url} must be the address of the console without /app.`;
}

interface Said {
  message: string;
  exitCode: number;
  hint?: string;
}

const describePermissionError = (path: string): Said => ({
  message: `You do not have the rights to read or write ${path}.`,
  exitCode: exitCodes.refused,
  hint: 'To store logins in another folder, set MUSTER_CONFIG_DIR. To use no file, set MUSTER_URL and MUSTER_API_KEY.',
});

/** Messages for errors of the local file system, by error code. Each function gets the path of the file. */
const ofFiles: Record<string, (path: string) => Said> = {
  ENOENT: (path) => ({ message: `File not found: ${path}`, exitCode: exitCodes.usage }),
  EISDIR: (path) => ({ message: `${path} is a folder, not a file.`, exitCode: exitCodes.usage }),
  ENOTDIR: (path) => ({ message: `A part of the path ${path} is a file, not a folder.`, exitCode: exitCodes.usage }),
  EACCES: describePermissionError,
  EPERM: describePermissionError,
  EROFS: describePermissionError,
  ENOSPC: (path) => ({ message: `${path} cannot be written because its disk is full.`, exitCode: exitCodes.failed }),
};

function explainServiceError(error: MusterError, login?: UsedLogin): Explained {
  const { code, status, requestId, fields, message } = error;
  const at = login ? ` at ${login.url}` : '';
  const explained =
    status === 0 && code === 'unreachable' ? message.replace('The service', `The service${at}`) : message;
  return {
    code,
    message: explained,
    status,
    requestId,
    fields,
    hint: getHint(error, login),
    exitCode: getExitCode(error),
  };
}

function getExitCode({ code, status }: MusterError): number {
  if (code === 'not_muster' || code === 'redirected') return exitCodes.refused;
  if ([400, 404, 413, 415, 422].includes(status)) return exitCodes.usage;
  if (status === 0 || status === 429 || status >= 500 || (status >= 401 && status <= 403)) return exitCodes.refused;
  return exitCodes.failed;
}

function getHint({ code, status, problem }: MusterError, login?: UsedLogin): string | undefined {
  const url = login?.url ?? 'https://…';
  if (code === 'not_muster') return getAddressHint(url);
  if (code === 'redirected') return 'Sign in at the address of your Muster service: muster login --url …';
  if (code === 'unreachable') {
    return 'Check that the service is running. If its address is different, sign in there: muster login --url …';
  }
  if (status === 401) {
    return login?.session
      ? `Your session has expired. Sign in again: muster login --url ${url} --email ${login.email ?? '…'}`
      : `The API key is wrong, revoked or expired. An admin can create one in the console: muster login --url ${url}`;
  }
  if (status === 402) return 'To see your limits and usage, run muster usage.';
  if (code === 'step_up_required') {
    return (
      'You confirmed your second factor too long ago. ' +
      `Sign in again: muster login --url ${url} --email ${login?.email ?? '…'}`
    );
  }
  if (status === 403) {
    return login?.session
      ? 'Your role does not allow this command. Ask an admin to run it, or to change your role.'
      : `An API key cannot be used for this command. To sign in as a person, run muster login --url ${url} --email …`;
  }
  if (status === 429) return `Wait ${String(problem['retryAfterSeconds'] ?? 'a few')} seconds and try again.`;
  if (status >= 500)
    return 'Try again later. If the error persists, report the request id to the operator of the service.';
  return hints[code];
}

const hints: Record<string, string> = {
  agent_not_found: 'To list the agents, run muster agents list.',
  agent_not_ready: 'To see the reason, run muster agents get <agent>. To start it, run muster agents start <agent>.',
  nothing_to_run: 'The workflow has neither a script nor steps. Add one and run muster workflows push <folder>.',
  process_not_found: 'To add the process to the library, run muster packs publish … --create.',
  version_not_installable:
    'Only a version in stage pilot or production can be pinned. Run muster packs promote … --stage pilot.',
  stage_transition_not_allowed:
    'A version can move only one stage at a time: draft, internal_verified, pilot, production. Promote it through ' +
    'each stage in this order.',
  draft_already_published: 'The files have not changed since the last version, so there is nothing to publish.',
  precondition_failed: 'The workflow was changed in the service. Pull it, check the differences and push again.',
};

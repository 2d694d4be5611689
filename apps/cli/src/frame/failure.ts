import { isMusterError, type MusterError } from '@muster/sdk';

/** How it ended: 0, the run failed, used wrongly, not reached or not allowed. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

/** What the user can do something about. */
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

export function usageFault(message: string, hint?: string): Failure {
  return new Failure('usage', message, { hint, exitCode: exitCodes.usage });
}

export interface Explained {
  code: string;
  message: string;
  status?: number;
  requestId?: string;
  fields: { field: string; message: string }[];
  /** What to do. */
  hint?: string;
  exitCode: number;
}

/** What an explanation says of the login that was used. */
interface UsedLogin {
  url: string;
  session?: string;
  email?: string;
}

/** Whatever was thrown, in words that help. */
export function explain(thrown: unknown, login?: UsedLogin): Explained {
  if (isMusterError(thrown)) return explainAnswer(thrown, login);
  if (thrown instanceof Failure) {
    const { hint, exitCode = exitCodes.failed } = thrown.options;
    return { code: thrown.code, message: thrown.message, hint, exitCode, fields: [] };
  }
  if (thrown instanceof TypeError && login) return notLikeMuster(login);
  const { code, message, path } = (thrown ?? {}) as NodeJS.ErrnoException;
  const known = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  const said = (known && path !== undefined && ofFiles[code]?.(path)) || undefined;
  return {
    code: known ? code : 'unexpected',
    message: said?.message ?? message ?? String(thrown),
    hint: said?.hint,
    fields: [],
    exitCode: said?.exitCode ?? exitCodes.failed,
  };
}

/** An answer without the fields that every Muster sends, which the command then reads as `undefined`. */
function notLikeMuster({ url }: UsedLogin): Explained {
  return {
    code: 'not_muster',
    message: `The server at ${url} does not answer like Muster.`,
    hint: hintOfAddress(url),
    fields: [],
    exitCode: exitCodes.refused,
  };
}

function hintOfAddress(url: string): string {
  return `Is ${url} the address where the console is, without /app?`;
}

interface Said {
  message: string;
  exitCode: number;
  hint?: string;
}

const notAllowed = (path: string): Said => ({
  message: `${path} may not be read or written by you.`,
  exitCode: exitCodes.refused,
  hint: 'Logins are kept where MUSTER_CONFIG_DIR says; MUSTER_URL and MUSTER_API_KEY need no file.',
});

/** What this machine's files answer: named wrongly, or not to be had. */
const ofFiles: Record<string, (path: string) => Said> = {
  ENOENT: (path) => ({ message: `There is no ${path}.`, exitCode: exitCodes.usage }),
  EISDIR: (path) => ({ message: `${path} is a folder.`, exitCode: exitCodes.usage }),
  ENOTDIR: (path) => ({ message: `${path} is not below a folder.`, exitCode: exitCodes.usage }),
  EACCES: notAllowed,
  EPERM: notAllowed,
  EROFS: notAllowed,
  ENOSPC: (path) => ({ message: `The disk of ${path} is full.`, exitCode: exitCodes.failed }),
};

function explainAnswer(error: MusterError, login?: UsedLogin): Explained {
  const { code, status, requestId, fields, message } = error;
  const at = login ? ` at ${login.url}` : '';
  const said = status === 0 && code === 'unreachable' ? message.replace('The service', `The service${at}`) : message;
  return { code, message: said, status, requestId, fields, hint: hintOf(error, login), exitCode: exitCodeOf(error) };
}

function exitCodeOf({ code, status }: MusterError): number {
  if (code === 'not_muster' || code === 'redirected') return exitCodes.refused;
  if ([400, 404, 413, 415, 422].includes(status)) return exitCodes.usage;
  if (status === 0 || status === 429 || status >= 500 || (status >= 401 && status <= 403)) return exitCodes.refused;
  return exitCodes.failed;
}

function hintOf({ code, status, problem }: MusterError, login?: UsedLogin): string | undefined {
  const url = login?.url ?? 'https://…';
  if (code === 'not_muster') return hintOfAddress(url);
  if (code === 'redirected') return 'Sign in at the address of your Muster: muster login --url …';
  if (code === 'unreachable') return `Is it running, and is that its address? muster login --url … names another.`;
  if (status === 401) {
    return login?.session
      ? `Your login has ended; sign in again: muster login --url ${url} --email ${login.email ?? '…'}`
      : `The API key is wrong, revoked or expired; an admin makes another in the console: muster login --url ${url}`;
  }
  if (status === 402) return 'muster usage shows the limits and what is used of them.';
  if (code === 'step_up_required') {
    return `Your second factor was proved too long ago; sign in again: muster login --url ${url} --email ${login?.email ?? '…'}`;
  }
  if (status === 403) {
    return login?.session
      ? 'Your role does not include this; an admin can do it, or change your role.'
      : `An API key may not do this: sign in as a person, muster login --url ${url} --email …`;
  }
  if (status === 429) return `The service asks to wait ${String(problem['retryAfterSeconds'] ?? 'a while')}.`;
  if (status >= 500) return 'Try again in a moment; if it lasts, say the request id to whoever runs the service.';
  return hints[code];
}

const hints: Record<string, string> = {
  agent_not_found: 'muster agents list shows those that there are.',
  agent_not_ready: 'muster agents get <agent> says why; muster agents start <agent> starts it.',
  nothing_to_run: 'The workflow has neither script nor steps: write one, and muster workflows push <folder>.',
  process_not_found: 'muster packs publish … --create puts the process into the library.',
  version_not_installable: 'Only versions in pilot or production are pinned: muster packs promote … --stage pilot',
  stage_transition_not_allowed: 'One step at a time: draft, internal_verified, pilot, production.',
  draft_already_published: 'Nothing has changed since the last version.',
  precondition_failed: 'Somebody has changed it meanwhile: pull, look at the difference, and push again.',
};

/**
 * Codes for why a run ended without completing, each with its meaning. The services and workers report these codes. A
 * script may report a code of its own choice instead.
 */
export const runErrorCodes = {
  cancelled: 'The run, its batch or its workflow was cancelled; the error is the reason that the caller gave.',
  execution_timeout:
    'The run took longer than its maxRuntimeMs, or made no progress for longer than the organization allows.',
  script_failed: 'The script ended with an exit code other than 0 and reported no error code.',
  process_killed:
    'The script’s process was killed, but not by the service. For example, the machine ran out of memory.',
  run_not_started: 'The worker could not start the script. For example, the disk was full or Python did not run.',
  unsupported_step: 'The workflow has a step of a type that cannot be run.',
  step_not_confirmed: 'The run reached a step of a draft made from a video that no user has confirmed yet.',
  nothing_to_run: 'The workflow has no script and no steps, and its bundle has no main.py.',
  bundle_rejected: 'The bundle did not match its digest, or was not a valid zip file.',
  bundle_unavailable: 'The bundle could not be downloaded, or the machine had no space for it.',
  secret_missing: 'A vault secret that the run requires did not exist when the run was about to start.',
  machine_cannot: 'The machine lacks something that the run requires, such as Python or a browser.',
  budget_exceeded: 'The run cost more than its maxCostUsd.',
  agent_not_ready: 'The agent was terminated or off, went offline, or stopped reporting the run.',
  lost_in_recovery:
    'The service was restored from a backup in which the run was in progress, and the worker does not report it.',
  agent_rebooted: 'The agent was rebooted during the run.',
  agent_stopped: 'The agent was stopped, drained or terminated by force during the run.',
  worker_failed: 'The worker could not read or save the script’s output.',
  worker_restarted: 'The worker was restarted during the run, and the script was no longer running.',
  worker_stopped: 'The worker was stopped, or replaced by another one, during the run.',
  service_unreachable: 'The worker ended the run because it could not reach the service for too long.',
} as const satisfies Record<string, string>;

export type RunErrorCode = keyof typeof runErrorCodes;

/** An error code that a script chose: `muster.error_code("portal_down")`. */
export type ScriptErrorCode = string & { readonly chosenBy: 'script' };

export function isScriptErrorCode(text: string | null | undefined): text is ScriptErrorCode {
  return /^[a-z][a-z0-9_]{0,63}$/.test(text ?? '');
}

export const runErrorCodeSaid = [
  'Machine-readable reason why the job did not complete; null while it is open and if it completed. A code that is ' +
    'not in this list was chosen by the script (muster.error_code).',
  ...Object.entries(runErrorCodes).map(([code, meaning]) => `- \`${code}\`: ${meaning}`),
].join('\n');

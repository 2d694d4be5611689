/**
 * Why a run ended other than completed: each code that the services and their workers give, once, with its meaning. A
 * script may give a word of its own instead.
 */
export const runErrorCodes = {
  cancelled: 'Somebody cancelled it, its batch or its workflow; the error is the reason that they gave.',
  execution_timeout:
    'It ran longer than its maxRuntimeMs, or made no progress for longer than the organization allows.',
  script_failed: 'Its script ended with an exit code other than 0, and named no code of its own.',
  process_killed:
    'Its process was killed by somebody other than the service, such as a machine that ran out of memory.',
  run_not_started: 'Its worker could not start the script: the disk was full, or Python did not run.',
  unsupported_step: 'Its workflow has a step of a type that cannot be run.',
  step_not_confirmed: 'It came to a step of a filmed draft that nobody has confirmed yet.',
  nothing_to_run: 'Its workflow has no script and no steps, and its bundle has no main.py.',
  bundle_rejected: 'Its bundle was not what its digest says, or is no zip that may be unpacked.',
  bundle_unavailable: 'Its bundle could not be downloaded, or the machine had no room for it.',
  secret_missing: 'A vault secret that it names was gone when it was to start.',
  machine_cannot: 'Its machine lacks what it needs, such as Python or a browser, as its worker said.',
  budget_exceeded: 'It cost more than its maxCostUsd.',
  agent_not_ready: 'Its agent was terminated or off, went offline, or did not report the run any more.',
  lost_in_recovery:
    'The service was restored from a backup in which it was under way, and its worker does not report it.',
  agent_rebooted: 'Its agent was rebooted while it ran.',
  agent_stopped: 'Its agent was stopped, drained or terminated by force while it ran.',
  worker_failed: 'Its worker could not read or save what the script wrote.',
  worker_restarted: 'Its worker was restarted while it ran, and nothing of the run was left.',
  worker_stopped: 'Its worker was stopped, or replaced by another one, while it ran.',
  service_unreachable: 'Its worker could not reach the service for so long that it ended the run.',
} as const satisfies Record<string, string>;

export type RunErrorCode = keyof typeof runErrorCodes;

/** A word that a script chose: `muster.error_code("portal_down")`. */
export type ScriptErrorCode = string & { readonly chosenBy: 'script' };

export function isErrorWord(text: string | null | undefined): text is ScriptErrorCode {
  return /^[a-z][a-z0-9_]{0,63}$/.test(text ?? '');
}

export const runErrorCodeSaid = [
  'Why it did not complete, for programs; null while it is open and when it completed. A word that is not in this list is ' +
    'the script’s own (muster.error_code).',
  ...Object.entries(runErrorCodes).map(([code, meaning]) => `- \`${code}\`: ${meaning}`),
].join('\n');

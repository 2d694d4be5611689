const reasons: Record<string, string> = {
  not_due: 'The schedule is not due.',
  disabled: 'The schedule is paused.',
  concurrency_limit: 'The schedule has as many queued and running runs as its limit allows.',
  idempotency_window: 'The schedule launched another run less than its “Minutes between runs” ago.',
  billing_gate: 'The monthly limit of runs or spending is reached, or the organization is suspended.',
  agent_not_ready:
    'The agent is not ready: it is terminated, or it is off and the organization does not start machines for runs.',
  secret_missing: 'A secret that the workflow needs is not in the vault. Add it to the vault.',
  locked: 'Another request or process executes the schedule at the moment. Try again later.',
  misfire: 'The scheduled time was missed by more than 60 seconds, and the schedule skips missed times.',
};

/** Describes why a schedule's time was skipped; returns an unknown code unchanged. */
export function describeSkipReason(reason: string): string {
  return reasons[reason] ?? reason;
}

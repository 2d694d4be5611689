const reasons: Record<string, string> = {
  not_due: 'It is not due.',
  disabled: 'It is paused.',
  concurrency_limit: 'As many of its runs as may be at once are queued or running.',
  idempotency_window: 'One of its runs was launched shortly before.',
  billing_gate: 'The month’s limit of runs or spending is reached, or the organization is suspended.',
  agent_not_ready: 'Its agent is not ready, and is not woken.',
  secret_missing: 'A secret that it needs is not in the vault.',
  locked: 'It is being executed elsewhere at this moment.',
  misfire: 'It was missed, and what is missed is not made up for.',
};

/** Why a schedule's time was skipped, in words; the code alone where it is none of those that are known. */
export function reasonInWords(reason: string): string {
  return reasons[reason] ?? reason;
}

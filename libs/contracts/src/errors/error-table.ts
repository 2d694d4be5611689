/** Every machine-readable error code, once: its HTTP status and its title. Clients switch on the code. */
export const errorTable = {
  // A run summary's five codes, as the interface spells them. What could not be read has three statuses.
  DENTRIX_RUN_SUMMARY_INGEST_FAILED: { status: 503, title: 'Run summary not stored' },
  INVALID_RUN_SUMMARY_PAYLOAD: { status: 400, title: 'Invalid run summary' },
  JOB_NOT_FOUND: { status: 404, title: 'Job of the run summary not found' },
  MISSING_BATCH_ID: { status: 400, title: 'Run summary without a batch id' },
  RUN_SUMMARY_REQUEST_FAILED: { status: 400, title: 'Run summary not readable' },
  run_summary_too_large: { status: 413, title: 'Run summary not readable', wireCode: 'RUN_SUMMARY_REQUEST_FAILED' },
  run_summary_not_json: { status: 415, title: 'Run summary not readable', wireCode: 'RUN_SUMMARY_REQUEST_FAILED' },
  // What a program that waits to be let in is answered, as RFC 8628 spells it.
  access_denied: { status: 400, title: 'Access denied' },
  authorization_pending: { status: 400, title: 'Nobody has answered yet' },
  expired_token: { status: 400, title: 'Device code expired' },
  slow_down: { status: 400, title: 'Asked too often' },
  already_answered: { status: 409, title: 'Already answered' },
  agent_not_found: { status: 404, title: 'Agent not found' },
  agent_not_ready: { status: 409, title: 'Agent not ready' },
  // The agent was told to wake and could not: the same word on the wire, with the status of a failed machine.
  agent_not_woken: { status: 502, title: 'Agent not ready', wireCode: 'agent_not_ready' },
  billing_gate_closed: { status: 402, title: 'Billing gate closed' },
  billing_record_exists: { status: 409, title: 'Billing record exists' },
  bundle_rejected: { status: 422, title: 'Bundle rejected' },
  // Nothing is done on a word that came too late.
  confirmation_expired: { status: 409, title: 'Confirmation expired' },
  conflict: { status: 409, title: 'Conflict' },
  draft_already_published: { status: 409, title: 'Draft already published' },
  draft_head_conflict: { status: 409, title: 'Draft head conflict' },
  draft_not_found: { status: 404, title: 'Draft not found' },
  // Nothing to publish: the same word on the wire, with the status of a state that does not allow it.
  draft_to_publish_missing: { status: 409, title: 'Draft not found', wireCode: 'draft_not_found' },
  execution_timeout: { status: 504, title: 'Execution timeout' },
  idempotency_key_in_flight: { status: 409, title: 'Idempotency key still in flight' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key reused' },
  internal_error: { status: 500, title: 'Internal error' },
  invalid_payload: { status: 400, title: 'Invalid payload' },
  job_not_found: { status: 404, title: 'Job not found' },
  machine_cannot: { status: 409, title: 'Machine lacks what this needs' },
  // Nothing is done to a machine that does not carry its organization's mark.
  machine_not_ours: { status: 409, title: 'Machine not marked as the organization’s' },
  metadata_not_found: { status: 404, title: 'No NPI or claim metadata' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  model_failed: { status: 502, title: 'Model failed' },
  model_not_configured: { status: 503, title: 'Model not configured' },
  no_pinned_version: { status: 409, title: 'No pinned version' },
  no_previous_version: { status: 409, title: 'No previous version' },
  not_found: { status: 404, title: 'Not found' },
  nothing_to_run: { status: 409, title: 'Nothing to run' },
  organization_unresolved: { status: 400, title: 'Organization unresolved' },
  payload_too_large: { status: 413, title: 'Payload too large' },
  permission_denied: { status: 403, title: 'Permission denied' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  pricing_model_missing: { status: 404, title: 'Pricing model missing' },
  process_not_found: { status: 404, title: 'Process not found' },
  // Nobody waits for its answer any more.
  question_over: { status: 409, title: 'Question over' },
  rate_limited: { status: 429, title: 'Rate limited' },
  recording_not_found: { status: 404, title: 'Recording not found' },
  request_timeout: { status: 503, title: 'Request timeout' },
  service_unavailable: { status: 503, title: 'Service unavailable' },
  stage_in_use: { status: 409, title: 'Stage in use' },
  stage_transition_not_allowed: { status: 409, title: 'Stage transition not allowed' },
  step_up_required: { status: 403, title: 'Second factor required again' },
  unauthenticated: { status: 401, title: 'Unauthenticated' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  upload_missing: { status: 409, title: 'Nothing uploaded' },
  upload_not_found: { status: 404, title: 'Upload not found' },
  upload_used: { status: 409, title: 'Upload used' },
  version_not_installable: { status: 409, title: 'Version not installable' },
} as const satisfies Record<string, { status: number; title: string; wireCode?: string }>;

export type ErrorCode = keyof typeof errorTable;

/** What a client reads. Two faults of ours can be one to it. */
export function wireCodeOf(code: ErrorCode): string {
  const row: { status: number; wireCode?: string } = errorTable[code];
  return row.wireCode ?? code;
}

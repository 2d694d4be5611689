/** HTTP status and title of every error code. Clients decide by the code. */
export const errorTable = {
  // The five codes in capitals are used only for run summaries. RUN_SUMMARY_REQUEST_FAILED is sent with three different
  // statuses.
  DENTRIX_RUN_SUMMARY_INGEST_FAILED: { status: 503, title: 'Run summary not stored' },
  INVALID_RUN_SUMMARY_PAYLOAD: { status: 400, title: 'Invalid run summary' },
  JOB_NOT_FOUND: { status: 404, title: 'Job of the run summary not found' },
  MISSING_BATCH_ID: { status: 400, title: 'Run summary without a batch id' },
  RUN_SUMMARY_REQUEST_FAILED: { status: 400, title: 'Run summary not readable' },
  run_summary_too_large: { status: 413, title: 'Run summary not readable', wireCode: 'RUN_SUMMARY_REQUEST_FAILED' },
  run_summary_not_json: { status: 415, title: 'Run summary not readable', wireCode: 'RUN_SUMMARY_REQUEST_FAILED' },
  // RFC 8628 defines these four codes, from access_denied to slow_down, for a program that polls for its authorization.
  access_denied: { status: 400, title: 'Access denied' },
  authorization_pending: { status: 400, title: 'Authorization pending' },
  expired_token: { status: 400, title: 'Device code expired' },
  slow_down: { status: 400, title: 'Polled too often' },
  already_answered: { status: 409, title: 'Already answered' },
  agent_not_found: { status: 404, title: 'Agent not found' },
  agent_not_ready: { status: 409, title: 'Agent not ready' },
  // Clients see agent_not_woken as agent_not_ready, but with the status of a failed machine.
  agent_not_woken: { status: 502, title: 'Agent not ready', wireCode: 'agent_not_ready' },
  billing_gate_closed: { status: 402, title: 'Billing gate closed' },
  billing_record_exists: { status: 409, title: 'Billing record exists' },
  bundle_rejected: { status: 422, title: 'Bundle rejected' },
  // The error of a confirmation of a tool call that arrives after its deadline; the call is not executed.
  confirmation_expired: { status: 409, title: 'Confirmation expired' },
  conflict: { status: 409, title: 'Conflict' },
  draft_already_published: { status: 409, title: 'Draft already published' },
  draft_head_conflict: { status: 409, title: 'Draft head conflict' },
  draft_not_found: { status: 404, title: 'Draft not found' },
  // Clients see draft_to_publish_missing as draft_not_found, but with the status of a conflict.
  draft_to_publish_missing: { status: 409, title: 'Draft not found', wireCode: 'draft_not_found' },
  execution_timeout: { status: 504, title: 'Execution timeout' },
  idempotency_key_in_flight: { status: 409, title: 'Idempotency key still in flight' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key reused' },
  internal_error: { status: 500, title: 'Internal error' },
  invalid_payload: { status: 400, title: 'Invalid payload' },
  job_not_found: { status: 404, title: 'Job not found' },
  machine_cannot: { status: 409, title: 'Machine lacks a required capability' },
  // The error of an operation on a machine that is not marked as the organization's; the service does not execute it.
  machine_not_ours: { status: 409, title: 'Machine not marked as the organization’s' },
  metadata_not_found: { status: 404, title: 'No NPI or claim metadata' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  model_failed: { status: 502, title: 'Model failed' },
  model_not_configured: { status: 503, title: 'Model not configured' },
  // The response also has the field `labels`: the labels of the target that no agent has.
  no_agent_fits: { status: 409, title: 'No agent fits' },
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
  // The error of an answer to a question for which the run no longer waits.
  question_over: { status: 409, title: 'Question no longer open' },
  rate_limited: { status: 429, title: 'Rate limited' },
  recording_not_found: { status: 404, title: 'Recording not found' },
  request_timeout: { status: 503, title: 'Request timeout' },
  service_unavailable: { status: 503, title: 'Service unavailable' },
  // The error of a password or a passkey of a domain whose organization enforces single sign-on.
  sso_required: { status: 403, title: 'Single sign-on required' },
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

/** Returns the code that the client sees. Two codes of the table can share one. */
export function toWireCode(code: ErrorCode): string {
  const row: { status: number; wireCode?: string } = errorTable[code];
  return row.wireCode ?? code;
}

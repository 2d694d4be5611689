import type { ErrorCode } from './error-table';

/** The cause of every error code and what the client can do, for the API document. */
export const errorMeanings: Record<ErrorCode, string> = {
  DENTRIX_RUN_SUMMARY_INGEST_FAILED: 'The summary could not be stored. Send it again later.',
  INVALID_RUN_SUMMARY_PAYLOAD: '`errors` lists the invalid fields of the summary.',
  JOB_NOT_FOUND: 'The organization has no job with the `jobId` of the summary. Correct `jobId`, or leave it out.',
  MISSING_BATCH_ID: 'Add `batchId` to the summary.',
  RUN_SUMMARY_REQUEST_FAILED: 'The body could not be read. Send the summary as one complete JSON object.',
  run_summary_too_large: 'The body is larger than this operation accepts. Send a summary with fewer claims.',
  run_summary_not_json: 'Send the summary as JSON.',
  access_denied:
    'The user denied the sign-in of the program. Stop polling, and start again only if the user asks for it.',
  authorization_pending: 'The user has not allowed or denied the sign-in yet. Continue to poll.',
  expired_token: 'The device code has expired. Start a new sign-in with POST /api/auth/device.',
  slow_down: 'The program polls too often. Add 5 seconds to the time between two polls.',
  already_answered: 'The question has an answer already, which cannot be changed. Read the question to see the answer.',
  agent_not_found: 'The organization has no agent with this id. List the agents to find the id.',
  agent_not_ready:
    'The current status of the agent, in `agentStatus`, does not allow this. `detail` states the reason. Repeat the ' +
    'request when the agent has another status.',
  agent_not_woken: 'The machine of the agent did not start. Try again, or check the machine at its provider.',
  billing_gate_closed:
    'A monthly limit is used up, or the organization is suspended. Ask an admin to raise the limit, or a ' +
    'super_admin to resume the organization.',
  billing_record_exists: 'The run already has a billing record. Set `force` to replace it.',
  bundle_rejected:
    '`detail` names the file of the bundle that is not accepted, and the reason. Correct the file and upload the ' +
    'bundle again.',
  confirmation_expired: 'The call of the tool was not approved in time. Ask the assistant for the call again.',
  conflict:
    'The current state of the resource does not allow this change. `detail` states the reason. Read the resource ' +
    'before you repeat the request.',
  draft_already_published: 'The draft is published already. Upload a new draft to publish another version.',
  draft_head_conflict:
    'Another draft was uploaded after the one that this request is based on. Read the current draft, add your ' +
    'changes to it, and upload the result.',
  draft_not_found: 'The pack has no such draft. Upload a bundle as the draft first.',
  draft_to_publish_missing: 'The pack has no draft that could be published. Upload one first.',
  execution_timeout:
    'The operation did not end within its time limit. Read the status of the agent before you repeat the request.',
  idempotency_key_in_flight: 'A request with this Idempotency-Key is in progress. Try again when it has ended.',
  idempotency_key_reused: 'The Idempotency-Key was used for a different request. Use a new one.',
  internal_error:
    'The service failed because of a defect. Report the value of the response header X-Request-Id to the operator ' +
    'of the service.',
  invalid_payload: '`errors` lists the invalid fields, each with a message.',
  job_not_found: 'The organization has no job with this id. List the jobs to find the id.',
  machine_cannot:
    'The machine does not have a program that the operation needs. `detail` names the program. Install it on the ' +
    'machine, then reboot the agent.',
  machine_not_ours:
    'The machine does not carry the tag or label of this organization, so the service does not control it. `detail` ' +
    'names the tag or label. Set it at the provider of the machine.',
  metadata_not_found:
    'No step of the run names a claim or an NPI (the number of a health care provider in the US), so nothing can be ' +
    'billed. Choose another run.',
  method_not_allowed:
    'The path does not support the method of the request. Use a method that the response header Allow lists.',
  model_failed: 'The language model did not answer, or its answer could not be used. Try again.',
  model_not_configured: 'No language model is configured. Set one for the organization or for the service.',
  no_agent_fits:
    'No agent has all labels of the target. `labels` contains the labels that no agent has at all. Add the labels ' +
    'to an agent, or change the target.',
  no_pinned_version: 'The installation is not pinned to a version yet. Pin it to a version first.',
  no_previous_version:
    'The installation was never pinned to another version, so it cannot be rolled back. Pin it to the version that ' +
    'you want.',
  not_found: 'The resource does not exist, or it belongs to another organization. Check the ids in the request.',
  nothing_to_run:
    'The workflow has neither a script nor steps, and the run uses no bundle of a pack. Save a script or steps ' +
    'first.',
  organization_unresolved: 'The organization of the run no longer exists. Choose another run.',
  payload_too_large: 'The request body is larger than this operation accepts. Send a smaller body.',
  permission_denied:
    'The role of the user, or the scope of the API key, does not allow this. Ask an admin for the role, or use ' +
    'another key.',
  precondition_failed: 'The resource has changed since it was read. Read it again, then repeat the change.',
  pricing_model_missing: 'The organization has no pricing model. Save one first.',
  process_not_found:
    'The organization has no process with this worker key. Create it with PUT /api/process-library/{workerKey}.',
  question_over:
    'The question has expired, was declined, or its run has ended, so it can no longer be answered. Run the ' +
    'workflow again if the answer is still needed.',
  rate_limited:
    'Too many requests were sent. Wait for the number of seconds in the response header Retry-After, then try again.',
  recording_not_found: 'The agent has no recording with this id. List the recordings of the agent to find the id.',
  request_timeout: 'The request did not arrive completely in time. Nothing was changed; send it again.',
  service_unavailable: 'The service cannot do this at the moment. Nothing was changed; try again later.',
  sso_required: 'The organization of this email domain requires single sign-on: GET /api/auth/sso/start.',
  stage_in_use:
    'Installations that are not marked as pilot use the version; `installationIds` lists them. Pin them to another ' +
    'version first.',
  stage_transition_not_allowed:
    'The version cannot move from its stage to this one. `detail` lists the stages to which it can move.',
  step_up_required:
    'The change requires a second factor that was confirmed recently, by default within the last 15 minutes. Confirm it with POST ' +
    '/api/auth/step-up, then repeat the request.',
  unauthenticated: 'The request has no valid credentials. Send an API key, or sign in again.',
  unsupported_media_type:
    'The Content-Type is not accepted. The request body of this operation lists the accepted types.',
  upload_missing: 'No file was sent to the upload URL. Send it, then repeat the request.',
  upload_not_found: 'The upload does not exist or has expired. Request a new one.',
  upload_used: 'The upload was used before. Request a new one.',
  version_not_installable:
    'Only versions in the stages pilot and production can be installed. Change the stage of the version, or choose ' +
    'another version.',
};

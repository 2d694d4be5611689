import type {
  CallbackAnswer,
  CallbackReason,
  ClaimResultsBody,
  JobLogsBody,
  JobWebhookAnswer,
  JobWebhookBody,
  StepStatusBody,
} from '@muster/contracts';
import { sign } from './signature';
import { type Call, type Fields, textOfBody } from './service';
import type { ClaimReport, Item, StepReport } from '../spool/spool-item';

export interface Sender {
  agentId: string;
  jobId: string;
  signingSecret: string;
  screenshotKey?: string;
}

/** The request that tells the service of these items: several logs, or one of anything else. */
export function callbackOf(items: Item[], { agentId, jobId, signingSecret, screenshotKey }: Sender): Call {
  const item = items[0]!;
  const post = <Body = never>(path: string, body: NoInfer<Body>): Call => ({
    method: 'POST',
    path,
    text: textOfBody<Body>(body),
  });
  switch (item.kind) {
    case 'log':
      return post<JobLogsBody>('/api/job-logs', {
        logs: items.flatMap((each) => (each.kind === 'log' ? [{ jobId, ...each.entry }] : [])),
      });
    case 'webhook':
      return post<JobWebhookBody>('/api/job-webhook', { jobId, ...item.body });
    case 'terminal':
      return post<JobWebhookBody>('/api/job-webhook', {
        jobId,
        ...item.body,
        screenshotKey: screenshotKey || undefined,
      });
    case 'step':
      return post<StepReport & Pick<StepStatusBody, 'jobId'>>(`/api/agents/${agentId}/step-status`, {
        jobId,
        ...item.body,
      });
    case 'summary':
      return post<Record<string, unknown>>('/api/pilot/run-summary', item.body);
    case 'claims': {
      const call = post<Record<keyof ClaimResultsBody, ClaimReport[]>>(`/api/jobs/${jobId}/claim-results`, {
        claimResults: item.claims,
      });
      // Signed anew for each attempt: a signature is good for five minutes.
      const signature = sign(signingSecret, `${jobId}.${call.text}`, Date.now());
      return { ...call, headers: { 'x-service-signature': signature } };
    }
    case 'upload':
      throw new Error('an upload takes two requests');
  }
}

/** With one of the interface's codes (section 7) the service refuses the summary itself. */
const summaryCodes = ['INVALID_RUN_SUMMARY_PAYLOAD', 'MISSING_BATCH_ID', 'JOB_NOT_FOUND', 'RUN_SUMMARY_REQUEST_FAILED'];

/**
 * Whether a refusal is not of the item. A service that does not take summaries yet, or a proxy in front of one that is
 * being replaced, says 404 to them; that it does not know the job, it says with a code of its own.
 */
export function isRefusedUnread(item: Item, body: Record<string, unknown>): boolean {
  return item.kind === 'summary' && !summaryCodes.includes(String(body.code));
}

const over: CallbackReason = 'job_over';

/** Whether the answer says that the job is over for the service, so that its run here has lost its reason. */
export function saysJobIsOver(body: Fields<CallbackAnswer> | Fields<JobWebhookAnswer>): boolean {
  return body.accepted === false && body.reason === over;
}

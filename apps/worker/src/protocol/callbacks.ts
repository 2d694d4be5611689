import type {
  CallbackAnswer,
  CallbackReason,
  ClaimResultsBody,
  JobLogsBody,
  JobWebhookAnswer,
  JobWebhookBody,
  StepStatusBody,
} from '@muster/contracts';
import { signText } from './signature';
import { isObject, toStringOrEmpty } from './command';
import { type Answer, type Call, type Fields, serializeBody } from './service';
import type { ClaimReport, FailedAccountReport, Item, MissingItem, StepReport } from '../spool/spool-item';

export interface Sender {
  agentId: string;
  jobId: string;
  signingSecret: string;
  screenshotKey?: string;
  /** The run's reports that will never reach the service. */
  missingItems?: MissingItem[];
}

/** Returns the request that reports these items: several log entries, or one item of another kind. */
export function toReportRequest(
  items: Item[],
  { agentId, jobId, signingSecret, screenshotKey, missingItems }: Sender,
): Call {
  const item = items[0]!;
  const createPost = <Body = never>(path: string, body: NoInfer<Body>): Call => ({
    method: 'POST',
    path,
    text: serializeBody<Body>(body),
  });
  switch (item.kind) {
    case 'log':
      return createPost<JobLogsBody>('/api/job-logs', {
        logs: items.flatMap((each) => (each.kind === 'log' ? [{ jobId, ...each.entry }] : [])),
      });
    case 'webhook':
      return createPost<JobWebhookBody>('/api/job-webhook', { jobId, ...item.body });
    case 'terminal':
      return createPost<JobWebhookBody>('/api/job-webhook', {
        jobId,
        ...item.body,
        screenshotKey: screenshotKey || undefined,
        incomplete: missingItems?.length ? missingItems : undefined,
      });
    case 'step':
      return createPost<StepReport & Pick<StepStatusBody, 'jobId'>>(`/api/agents/${agentId}/step-status`, {
        jobId,
        ...item.body,
      });
    case 'summary':
      return createPost<Record<string, unknown>>('/api/pilot/run-summary', item.body);
    case 'claims': {
      const call = createPost<Record<keyof ClaimResultsBody, ClaimReport[]>>(`/api/jobs/${jobId}/claim-results`, {
        claimResults: item.claims,
      });
      // A signature is valid for five minutes. This function runs for each attempt, so each attempt has a new one.
      const signature = signText(signingSecret, `${jobId}.${call.text}`, Date.now());
      return { ...call, headers: { 'x-service-signature': signature } };
    }
    case 'account': {
      const path = `/api/jobs/${jobId}/accounts/${encodeURIComponent(item.pool)}/failed`;
      return createPost<FailedAccountReport>(path, item.body);
    }
    case 'upload':
      throw new Error('an upload cannot be sent as a callback: request an upload URL, then send the file to it');
  }
}

const longestName = 100;
const longestPlainError = 2_000;

/** Error codes with which the service refuses a summary that it has read. */
const summaryCodes = [
  'INVALID_RUN_SUMMARY_PAYLOAD',
  'MISSING_BATCH_ID',
  'JOB_NOT_FOUND',
  'conflict',
  'RUN_SUMMARY_REQUEST_FAILED',
];

/**
 * Whether the item was refused without being read, so that a later attempt may succeed. A service that does not accept
 * summaries yet, or a proxy in front of a service that is being replaced, answers a summary with 404. A service that
 * does not know the job sends JOB_NOT_FOUND.
 */
export function isRefusedWithoutReading(item: Item, body: Record<string, unknown>): boolean {
  return item.kind === 'summary' && !summaryCodes.includes(String(body.code));
}

/** Returns reduced items that the service may accept after it refused this item; null if nothing can be left out. */
export function reduceRefusedItem(item: Item): Item[] | null {
  switch (item.kind) {
    case 'claims':
      return item.claims.length > 1 ? item.claims.map((claim) => ({ kind: 'claims', claims: [claim] })) : null;
    case 'step': {
      const { usage, metadata, stepId, ...body } = item.body;
      return (usage ?? metadata ?? stepId) === undefined ? null : [{ kind: 'step', body }];
    }
    case 'terminal': {
      const { result, error, ...body } = item.body;
      const isLess = result !== undefined || (error?.length ?? 0) > longestPlainError;
      return isLess ? [{ kind: 'terminal', body: { ...body, error: error?.slice(0, longestPlainError) } }] : null;
    }
    default:
      return null;
  }
}

/** Returns the description of a missing item for users: which item is missing, and why the service refused it. */
export function toMissingItem(item: Item, reason: string): MissingItem {
  switch (item.kind) {
    case 'claims':
      return { kind: 'claim', reason: `claim ${shortenName(item.claims[0]?.claimId)}: ${reason}` };
    case 'step': {
      const step = `of the step ${shortenName(item.body.name)}`;
      if (item.body.usage === undefined) return { kind: 'step', reason: `a report ${step}: ${reason}` };
      return { kind: 'ai_usage', reason: `usage ${step}: ${reason}` };
    }
    case 'account':
      return { kind: 'report', reason: `the failure of the account of the pool ${shortenName(item.pool)}: ${reason}` };
    case 'summary': {
      const batch = item.body['batchSummary'];
      const batchId = isObject(batch) ? batch['batchId'] : '';
      return { kind: 'run_summary', reason: `summary of the batch ${shortenName(batchId)}: ${reason}` };
    }
    case 'upload':
      return {
        kind: item.screenshot ? 'screenshot' : 'artifact',
        reason: `the file ${shortenName(item.filename)}: ${reason}`,
      };
    case 'terminal':
      return { kind: 'result', reason: `the run’s result: ${reason}` };
    case 'webhook':
      return { kind: 'progress', reason: `its progress: ${reason}` };
    case 'log':
      return { kind: 'log', reason: `a line of the log: ${reason}` };
  }
}

function shortenName(name: unknown): string {
  const text = typeof name === 'string' ? name : String(JSON.stringify(name));
  return text.length > longestName ? `${text.slice(0, longestName)}…` : text;
}

/** Returns the status of an answer, with the reason if its body contains one. */
export function describeRefusal({ status, body: { errors, detail } }: Pick<Answer, 'status' | 'body'>): string {
  const fields = (Array.isArray(errors) ? (errors as unknown[]) : []).map((each) =>
    isObject(each) ? [toStringOrEmpty(each['field']), toStringOrEmpty(each['message'])].filter(Boolean).join(': ') : '',
  );
  const reason = fields.filter(Boolean).slice(0, 3).join('; ') || toStringOrEmpty(detail);
  return reason ? `answered ${status}: ${reason}` : `answered ${status}`;
}

const over: CallbackReason = 'job_over';

/** Whether the answer states that the service considers the job ended, so that its run on this machine must stop. */
export function isJobEndReport(body: Fields<CallbackAnswer> | Fields<JobWebhookAnswer>): boolean {
  return body.accepted === false && body.reason === over;
}

import type { CallbackReason } from '@muster/contracts';
import { sign } from './signature';
import type { Call } from './service';
import type { Item } from '../spool/spool-item';

export interface Sender {
  agentId: string;
  jobId: string;
  signingSecret: string;
  screenshotKey?: string;
}

/** The request that tells the service of these items: several logs, or one of anything else. */
export function callbackOf(items: Item[], { agentId, jobId, signingSecret, screenshotKey }: Sender): Call {
  const item = items[0]!;
  const post = (path: string, body: unknown): Call => ({ method: 'POST', path, text: JSON.stringify(body) });
  switch (item.kind) {
    case 'log':
      return post('/api/job-logs', {
        logs: items.map((each) => (each.kind === 'log' ? { jobId, ...each.entry } : null)),
      });
    case 'webhook':
      return post('/api/job-webhook', { jobId, ...item.body });
    case 'terminal':
      return post('/api/job-webhook', { jobId, ...item.body, ...(screenshotKey ? { screenshotKey } : {}) });
    case 'step':
      return post(`/api/agents/${agentId}/step-status`, { jobId, ...item.body });
    case 'summary':
      return post('/api/pilot/run-summary', item.body);
    case 'claims': {
      const call = post(`/api/jobs/${jobId}/claim-results`, { claimResults: item.claims });
      // Signed anew for each attempt: a signature is good for five minutes.
      const signature = sign(signingSecret, `${jobId}.${call.text}`, Date.now());
      return { ...call, headers: { 'x-service-signature': signature } };
    }
    case 'upload':
      throw new Error('an upload takes two requests');
  }
}

const over: CallbackReason = 'job_over';

/** Whether the answer says that the job is over for the service, so that its run here has lost its reason. */
export function saysJobIsOver(body: Record<string, unknown>): boolean {
  return body.accepted === false && body.reason === over;
}

import { type JobEntity, recordOrganizationEvent, type Transaction } from '@muster/database';
import { appendTimelines, type TimelineEntry } from '@muster/timeline';

interface JobEntry extends Pick<JobEntity, 'organizationId' | 'agentId' | 'workflowId'> {
  jobId: string;
  entry: TimelineEntry;
}

/**
 * Records changes of jobs. A job without an agent is on no timeline yet, so only the organization's stream contains
 * the change; the timeline of the agent that gets the job begins with the time at which the job was queued.
 */
export function recordJobEntries(tx: Transaction, entries: JobEntry[]): void {
  appendTimelines(
    tx,
    entries.flatMap(({ organizationId, agentId, entry }) => (agentId ? [{ organizationId, agentId, entry }] : [])),
  );
  for (const { organizationId, agentId, jobId, workflowId, entry } of entries) {
    if (agentId) continue;
    const { status, previousStatus, progress } = entry.data ?? {};
    const data = { jobId, workflowId, status, previousStatus, progress };
    recordOrganizationEvent(tx, { organizationId, type: 'job', data });
  }
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type FeedbackStatus, feedbackStatuses } from '@muster/contracts/words';
import { type FeedbackSubmissionDetail, feedbackSubmissionsRead, feedbackSubmissionsUpdate } from '../../api/generated';
import { usePermission } from '../../api/session';
import { Time } from '../../format/time';
import { AgentLink, RunLink, WorkflowLink } from '../../parts/names';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { showErrorToast, showToast } from '../../ui/toast';
import { TrackerLinks } from './external';
import { typeNames } from './feedback-names';

/** One report with all its fields and its history. */
export function SubmissionDetails({ id, close }: { id: string; close: () => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['feedback', id],
    queryFn: ({ signal }) => feedbackSubmissionsRead({ path: { id }, signal }),
  });
  const mayDecide = usePermission('feedback.admin');
  return (
    <Dialog open onOpenChange={close} title={data?.title ?? 'Report'} wide>
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton />}
      {data && (
        <>
          <div className="flex flex-wrap items-center gap-3">
            <StatusMark status={data.status} testId="feedback-status" />
            <span className="text-dim">{typeNames[data.type]}</span>
          </div>
          {mayDecide && <StatusButtons submission={data} />}
          <p dir="auto" className="whitespace-pre-wrap">
            {data.description}
          </p>
          {data.steps && (
            <div>
              <h3 className="font-medium">Steps to reproduce</h3>
              <p dir="auto" className="whitespace-pre-wrap text-dim">
                {data.steps}
              </p>
            </div>
          )}
          {data.screenshotUrl && (
            <a href={data.screenshotUrl} target="_blank" rel="noreferrer">
              <img
                src={data.screenshotUrl}
                alt={`Screenshot of ${data.title}`}
                className="max-h-80 rounded-control border border-line object-contain"
              />
            </a>
          )}
          <FactList facts={listSubmissionFacts(data)} />
          <StatusHistory submission={data} />
        </>
      )}
    </Dialog>
  );
}

function listSubmissionFacts(submission: FeedbackSubmissionDetail): [string, ReactNode][] {
  const { severity, agentId, workflowId, jobId, url, reporter, createdAt } = submission;
  return [
    ['Reported by', <bdi>{reporter.email ?? `API key ${reporter.id}`}</bdi>],
    ['Reported', <Time at={createdAt} />],
    ['Tracked in', <TrackerLinks submission={submission} />],
    ...(severity ? ([['Severity', severity]] as [string, ReactNode][]) : []),
    ...(agentId ? ([['Agent', <AgentLink id={agentId} />]] as [string, ReactNode][]) : []),
    ...(workflowId ? ([['Workflow', <WorkflowLink id={workflowId} />]] as [string, ReactNode][]) : []),
    ...(jobId ? ([['Run', <RunLink id={jobId} />]] as [string, ReactNode][]) : []),
    ...(url ? ([['Page', <bdi className="break-all">{url}</bdi>]] as [string, ReactNode][]) : []),
  ];
}

function StatusHistory({ submission: { history } }: { submission: FeedbackSubmissionDetail }) {
  if (history.length === 0) return <p className="text-dim">The report has no changes yet.</p>;
  return (
    <section aria-label="History">
      <h3 className="mb-1 font-medium">History</h3>
      <ol className="flex flex-col gap-1">
        {history.map(({ at, from, to, source, reason }, index) => (
          <li key={index} className="flex flex-wrap gap-x-2">
            <Time at={at} />
            <span>
              {from === to ? '' : `${from} → ${to}`} <span className="text-dim">by {source}</span>
            </span>
            {reason && <bdi className="text-dim">{reason}</bdi>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** One button for each other status, so that a report is answered with one click. */
function StatusButtons({ submission: { id, status } }: { submission: FeedbackSubmissionDetail }) {
  const client = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (next: FeedbackStatus) => feedbackSubmissionsUpdate({ path: { id }, body: { status: next } }),
    onSuccess: (changed) => {
      client.setQueryData(['feedback', id], changed);
      void client.invalidateQueries({ queryKey: ['feedback', 'list'] });
      showToast(`The report is now ${formatStatus(changed.status)}. Linked trackers are updated.`);
    },
    onError: showErrorToast,
  });
  return (
    <div role="group" aria-label="New status" className="flex flex-wrap items-center gap-1.5">
      <span className="text-dim">Change to</span>
      {feedbackStatuses
        .filter((each) => each !== status)
        .map((each) => (
          <Button key={each} disabled={isPending} onClick={() => mutate(each)}>
            {formatStatus(each)}
          </Button>
        ))}
    </div>
  );
}

function formatStatus(status: FeedbackStatus): string {
  return status.replaceAll('_', ' ');
}

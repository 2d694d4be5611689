import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { pollMs } from '../../api/query-client';
import { type VideoAnalysis, videoAnalysesRead } from '../../api/generated';
import { formatCount } from '../../format/format';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { Button, getButtonClass } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Progress } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { useUrlState } from '../../ui/table/use-url-state';

/** Progress of a video analysis. The analysis id is in the address, so that a reload keeps it. */
export function VideoAnalysisProgress() {
  const [{ agentId, analysisId }, change] = useUrlState();
  if (!agentId || !analysisId) return null;
  return (
    <AnalysisProgress
      agentId={agentId}
      analysisId={analysisId}
      leave={() => change({ agentId: undefined, analysisId: undefined })}
    />
  );
}

function AnalysisProgress({ agentId, analysisId, leave }: { agentId: string; analysisId: string; leave: () => void }) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['film', analysisId],
    queryFn: ({ signal }) => videoAnalysesRead({ path: { id: agentId }, query: { analysisId }, signal }),
    refetchInterval: ({ state }) => (hasAnalysisEnded(state.data) ? false : pollMs),
  });
  const look = useThrottled(() => hasAnalysisEnded(data) || refetch(), 1000);
  // The agent’s timeline reports progress, such as the extraction of images.
  useAgentEvents(hasAnalysisEnded(data) ? undefined : agentId, look);
  const isMade = Boolean(data?.workflowId);
  useEffect(() => {
    if (isMade) void client.invalidateQueries({ queryKey: ['workflows'] });
  }, [isMade, client]);
  if (error && !data) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (!data) return null;
  const { status, progress, frames, workflowId, error: why, code } = data;
  return (
    <section
      aria-label="Video analysis"
      data-testid="film-analysis"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-panel border border-line bg-surface p-3"
    >
      <span className="font-medium">Video</span>
      <StatusMark status={status} />
      {!hasAnalysisEnded(data) && (
        <span className="w-40">
          <Progress percent={progress} label="Analysis progress" />
        </span>
      )}
      <span className="min-w-0 text-dim">
        {frames > 0 && `${formatCount(frames)} images `}
        {why && (
          <>
            <bdi>{why}</bdi> {code && `(${code})`}
          </>
        )}
      </span>
      <span className="ml-auto flex gap-2">
        {workflowId && (
          <Link to="/workflows/$id" params={{ id: workflowId }} className={getButtonClass('primary')}>
            Open the draft
          </Link>
        )}
        <Button onClick={leave}>{hasAnalysisEnded(data) ? 'Dismiss' : 'Hide'}</Button>
      </span>
    </section>
  );
}

function hasAnalysisEnded(analysis: VideoAnalysis | undefined): boolean {
  return analysis?.status === 'completed' || analysis?.status === 'failed';
}

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { jobsPreview, type PlacementPreview, type PlacementPreviewBody } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount } from '../../format/format';
import { AgentLink } from '../names';

const outcomes: Record<PlacementPreview['would'], string> = {
  start: 'The run would start now',
  wake: 'A machine would be started for the run',
  wait: 'The run would wait',
  refuse: 'The run would be refused',
};

/** How many machines fit, and what would happen to a run that is launched now. */
export function PlacementNote({ body }: { body: PlacementPreviewBody }) {
  const { data } = useQuery({
    queryKey: ['placement', body],
    queryFn: ({ signal }) => jobsPreview({ body, signal }),
    // The previous preview stays visible until the next one has arrived.
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
    retry: false,
  });
  if (!data) return null;
  const { fits, online, idle, would, agentId, reason } = data;
  return (
    <p aria-live="polite" className="text-dim [overflow-wrap:anywhere]" data-testid="placement">
      {body.target && `${formatCount(fits)} fit, ${formatCount(online)} online, ${formatCount(idle)} idle. `}
      {outcomes[would]}
      {body.target && agentId && (
        <>
          {' '}
          (<AgentLink id={agentId} />)
        </>
      )}
      : {reason}.
    </p>
  );
}

import { useState } from 'react';
import { type Job, timelineLogs } from '../../api/generated';
import { useAgentEvents } from '../../live/use-agent-events';
import { EmptyNote, Panel } from '../../ui/page';
import { Timeline } from '../../ui/timeline/timeline';
import { noFilters, TimelineSearchAndFilters } from '../../ui/timeline/timeline-tools';
import { useLiveEntries } from '../../ui/timeline/use-live-entries';

export function RunLog({ run }: { run: Job }) {
  const { agentId } = run;
  if (agentId) return <LogOnAgent run={{ ...run, agentId }} />;
  return (
    <Panel title="Log">
      <EmptyNote title="The run has no log, because it has no agent yet." />
    </Panel>
  );
}

function LogOnAgent({ run: { id, agentId, finishedAt } }: { run: Job & { agentId: string } }) {
  const [filters, setFilters] = useState(noFilters);
  const { q, level } = filters;
  const live = useLiveEntries(['log', id], filters, (query) =>
    timelineLogs({ path: { id: agentId }, query: { ...query, jobId: id, kind: 'execution' } }),
  );
  useAgentEvents(agentId, (event) => {
    if (event.type === 'open' || event.type === 'resync') live.look();
    else if ((event.type === 'log' || event.type === 'job') && event.jobId === id) live.look();
  });
  return (
    <Panel title="Log">
      <TimelineSearchAndFilters search="Search the log" filters={filters} change={setFilters} />
      <Timeline
        label="Log"
        live={live}
        testId="log-line"
        empty={
          <EmptyNote
            title={
              q || level
                ? 'No matching lines.'
                : finishedAt
                  ? 'The run wrote no log.'
                  : 'The run has not written a log yet.'
            }
          />
        }
      />
    </Panel>
  );
}

import { useState } from 'react';
import { timelineKinds } from '@muster/contracts/words';
import { timelineLogs } from '../../api/generated';
import { useAgentEvents } from '../../live/use-agent-events';
import { EmptyNote, Panel } from '../../ui/page';
import { Timeline } from '../../ui/timeline/timeline';
import { noFilters, TimelineSearchAndFilters } from '../../ui/timeline/timeline-tools';
import { useLiveEntries } from '../../ui/timeline/use-live-entries';

export function AgentTimeline({ id }: { id: string }) {
  const [filters, setFilters] = useState(noFilters);
  const { q, level, kind } = filters;
  const live = useLiveEntries(['timeline', id], filters, (query) => timelineLogs({ path: { id }, query }));
  useAgentEvents(id, live.look);
  return (
    <Panel title="Timeline">
      <TimelineSearchAndFilters
        search="Search the timeline"
        filters={filters}
        change={setFilters}
        kinds={timelineKinds}
      />
      <Timeline
        label="Timeline"
        live={live}
        testId="timeline-entry"
        empty={
          <EmptyNote
            title={q || level || kind ? 'No entries match the filters.' : 'Nothing has happened on this agent yet.'}
          />
        }
      />
    </Panel>
  );
}

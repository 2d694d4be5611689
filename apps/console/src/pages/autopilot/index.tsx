import type { ColumnDef } from '@tanstack/react-table';
import { useState } from 'react';
import { usePermission } from '../../api/session';
import { SessionList } from '../../parts/autopilot/session-list';
import { NewSessionDialog } from '../../parts/autopilot/new-session';
import { Button } from '../../ui/button';
import { Page } from '../../ui/page';
import type { AutopilotSessionSummary } from '../../api/generated';
import { AgentLink } from '../../parts/names';

const agentColumn: ColumnDef<AutopilotSessionSummary> = {
  id: 'agent',
  header: 'Agent',
  meta: { className: 'w-40 max-md:hidden' },
  cell: ({ row: { original } }) => <AgentLink id={original.agentId} />,
};

export function AutopilotPage() {
  const [isMaking, setMaking] = useState(false);
  const mayControl = usePermission('agents.control');
  return (
    <Page
      title="Autopilot"
      full
      actions={
        mayControl && (
          <Button look="primary" onClick={() => setMaking(true)}>
            New session
          </Button>
        )
      }
    >
      <SessionList column={agentColumn} />
      <NewSessionDialog open={isMaking} onOpenChange={setMaking} />
    </Page>
  );
}

import type { ColumnDef } from '@tanstack/react-table';
import { lazy, Suspense, useState } from 'react';
import { usePermission } from '../../api/session';
import { SessionList } from '../../parts/autopilot/session-list';
import { Button } from '../../ui/button';
import { Page } from '../../ui/page';
import type { AutopilotSessionSummary } from '../../api/generated';
import { AgentLink } from '../../parts/names';

// The module of this dialog is loaded when the dialog is opened, because most visits to the list do not need it.
const NewSessionDialog = lazy(async () => ({
  default: (await import('../../parts/autopilot/new-session')).NewSessionDialog,
}));

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
      <Suspense>{isMaking && <NewSessionDialog open onOpenChange={setMaking} />}</Suspense>
    </Page>
  );
}

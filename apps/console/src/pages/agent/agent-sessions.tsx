import { useState } from 'react';
import { NewSessionDialog } from '../../parts/autopilot/new-session';
import { SessionList } from '../../parts/autopilot/session-list';
import { Button } from '../../ui/button';

/** Autopilot sessions of one agent. */
export function AgentSessions({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      {mayAsk && (
        <div className="flex justify-end">
          <Button look="primary" onClick={() => setMaking(true)}>
            New session
          </Button>
        </div>
      )}
      <div className="flex max-h-[70vh] min-h-0 flex-col gap-4">
        <SessionList agentId={agentId} />
      </div>
      <NewSessionDialog agentId={agentId} open={isMaking} onOpenChange={setMaking} />
    </>
  );
}

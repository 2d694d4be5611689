import { useQueryClient } from '@tanstack/react-query';
import { autopilotAct, type AutopilotSessionSummary } from '../../api/generated';
import { ConfirmDialog } from '../../ui/dialog';
import { showToast } from '../../ui/toast';

interface CancelSessionProps {
  session: Pick<AutopilotSessionSummary, 'sessionId' | 'agentId'> & { title?: string | null };
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

export function CancelSessionDialog({ session, open, onOpenChange }: CancelSessionProps) {
  const { sessionId, agentId, title } = session;
  const client = useQueryClient();
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Cancel ${title ?? 'this session'}?`}
      verb="Cancel session"
      act={async () => {
        await autopilotAct({ path: { id: agentId }, body: { action: 'cancel', sessionId } });
        await client.invalidateQueries({ queryKey: ['autopilot-sessions'] });
        await client.invalidateQueries({ queryKey: ['autopilot-session', sessionId] });
        showToast('The session is being cancelled.');
      }}
    >
      The browser of the session is closed, and no workflow is created. Data that the session has already submitted
      cannot be taken back.
    </ConfirmDialog>
  );
}

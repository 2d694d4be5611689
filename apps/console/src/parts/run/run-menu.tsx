import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { isTerminalStatus } from '@muster/contracts/words';
import { type Job, jobsCancel, jobsReplay } from '../../api/generated';
import { usePermission } from '../../api/session';
import { ConfirmDialog } from '../../ui/dialog';
import { ActionMenu } from '../../ui/menu';
import { showToast, showErrorToast } from '../../ui/toast';
import { shortenId } from '../names';

export function RunMenu({ run }: { run: Job }) {
  const [asks, setAsks] = useState(false);
  const mayChange = usePermission('runs.write');
  const { replay } = useReplayRun(run.id);
  return (
    <>
      <ActionMenu
        name={`run ${shortenId(run.id)}`}
        actions={[
          mayChange && isTerminalStatus(run.status) && { label: 'Replay', run: replay },
          mayChange && !isTerminalStatus(run.status) && { label: 'Cancel run', danger: true, run: () => setAsks(true) },
        ]}
      />
      {asks && <CancelRunDialog run={run} open onOpenChange={setAsks} />}
    </>
  );
}

interface CancelRunProps {
  run: Job;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

export function CancelRunDialog({ run, open, onOpenChange }: CancelRunProps) {
  const client = useQueryClient();
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title="Cancel this run?"
      verb="Cancel run"
      act={async () => {
        const cancelled = await jobsCancel({ path: { id: run.id }, body: {} });
        client.setQueryData(['run', run.id], cancelled);
        await client.invalidateQueries({ queryKey: ['runs'] });
        showToast(
          cancelled.status === 'cancelled'
            ? 'The run is cancelled.'
            : 'Cancellation requested. The script is killed if it does not stop.',
        );
      }}
    >
      {run.status === 'running'
        ? 'The script receives SIGTERM, then SIGKILL if it does not stop. What it has already done cannot be undone.'
        : 'The run has not started yet. After this, it will not start.'}
    </ConfirmDialog>
  );
}

/** Queues the run again and opens the new one. A double click queues only one. */
export function useReplayRun(id: string): { replay: () => void; isReplaying: boolean } {
  const navigate = useNavigate();
  const client = useQueryClient();
  const isAsked = useRef(false);
  const { mutate, isPending } = useMutation({
    mutationFn: () => jobsReplay({ path: { id } }),
    onSuccess: async ({ jobId }) => {
      await client.invalidateQueries({ queryKey: ['runs'] });
      showToast('The run is queued again.');
      await navigate({ to: '/runs/$id', params: { id: jobId } });
    },
    onError: showErrorToast,
    onSettled: () => void (isAsked.current = false),
  });
  const replayOnce = () => {
    if (isAsked.current) return;
    isAsked.current = true;
    mutate();
  };
  return { replay: replayOnce, isReplaying: isPending };
}

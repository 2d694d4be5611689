import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { isTerminal } from '@muster/contracts/words';
import { type Job, jobsCancel, jobsReplay } from '../../api/generated';
import { useMay } from '../../api/session';
import { ConfirmDialog } from '../../ui/dialog';
import { ActionMenu } from '../../ui/menu';
import { toast, toastRefused } from '../../ui/toast';
import { shortId } from '../names';

export function RunMenu({ run }: { run: Job }) {
  const [asks, setAsks] = useState(false);
  const isMember = useMay('member');
  const { replay } = useReplay(run.id);
  return (
    <>
      <ActionMenu
        name={`run ${shortId(run.id)}`}
        actions={[
          isMember && isTerminal(run.status) && { label: 'Replay', run: replay },
          isMember && !isTerminal(run.status) && { label: 'Cancel run', danger: true, run: () => setAsks(true) },
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
        toast(
          cancelled.status === 'cancelled'
            ? 'The run is cancelled.'
            : 'Cancellation requested. The script is killed if it does not stop.',
        );
      }}
    >
      {run.status === 'running'
        ? 'The script receives SIGTERM, then SIGKILL if it does not stop. What it has already done cannot be undone.'
        : 'The run has not started, and will not start.'}
    </ConfirmDialog>
  );
}

/** Queues the run again and opens the new one. A double click queues only one. */
export function useReplay(id: string): { replay: () => void; isReplaying: boolean } {
  const navigate = useNavigate();
  const client = useQueryClient();
  const isAsked = useRef(false);
  const { mutate, isPending } = useMutation({
    mutationFn: () => jobsReplay({ path: { id } }),
    onSuccess: async ({ jobId }) => {
      await client.invalidateQueries({ queryKey: ['runs'] });
      toast('The run is queued again.');
      await navigate({ to: '/runs/$id', params: { id: jobId } });
    },
    onError: toastRefused,
    onSettled: () => void (isAsked.current = false),
  });
  const replay = () => {
    if (isAsked.current) return;
    isAsked.current = true;
    mutate();
  };
  return { replay, isReplaying: isPending };
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isTerminalStatus } from '@muster/contracts/words';
import { type Job, jobsCancelMany, jobsReplay } from '../../api/generated';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/dialog';
import { showToast } from '../../ui/toast';

/** Actions on several runs. They apply to the runs that were selected, even if the list has changed since. */
export function SelectedRunsActions({ runs, done }: { runs: Job[]; done: () => void }) {
  const [confirming, setConfirming] = useState<Job[] | null>(null);
  const client = useQueryClient();
  const open = runs.filter(({ status }) => !isTerminalStatus(status));
  const over = runs.filter(({ status }) => isTerminalStatus(status));
  const finishAction = async (text: string) => {
    await client.invalidateQueries({ queryKey: ['runs'] });
    showToast(text);
    done();
  };
  const replaying = useMutation({
    mutationFn: async (wanted: Job[]) => {
      const outcomes = await Promise.allSettled(wanted.map(({ id }) => jobsReplay({ path: { id } })));
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      const why = refused[0] ? ` ${(refused[0].reason as Error).message}` : '';
      await finishAction(`${wanted.length - refused.length} of ${wanted.length} runs are queued again.${why}`);
    },
  });
  return (
    <>
      {runs.length > 0 && <span className="self-center text-dim">{runs.length} selected</span>}
      {open.length > 0 && <Button onClick={() => setConfirming(open)}>Cancel {open.length} runs</Button>}
      {over.length > 0 && (
        <Button busy={replaying.isPending} onClick={() => replaying.mutate(over)}>
          Replay {over.length} runs
        </Button>
      )}
      {confirming && (
        <ConfirmDialog
          open
          onOpenChange={() => setConfirming(null)}
          title={`Cancel ${confirming.length} runs?`}
          verb="Cancel runs"
          act={async () => {
            const answer = await jobsCancelMany({ body: { ids: confirming.map(({ id }) => id) } });
            await finishAction(
              `${answer.cancelled} runs were cancelled, ${answer.cancelling} are being stopped on their machines.`,
            );
          }}
        >
          {confirming.filter(({ status }) => status === 'running').length} of these runs are running. Their scripts are
          asked to stop, and killed if they do not. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}

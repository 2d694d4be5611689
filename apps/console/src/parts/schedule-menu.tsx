import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type Schedule,
  schedulesDelete,
  schedulesExecute,
  type ScheduleTicks,
  schedulesUpdate,
} from '../api/generated';
import { usePermission } from '../api/session';
import { ConfirmDialog, Dialog } from '../ui/dialog';
import { ActionMenu } from '../ui/menu';
import { showToast, showErrorToast } from '../ui/toast';
import { describeSkipReason } from './schedule/reasons';

export function ScheduleMenu({ schedule }: { schedule: Schedule }) {
  const { id, name, enabled } = schedule;
  const [asks, setAsks] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const [tried, setTried] = useState<ScheduleTicks | null>(null);
  const mayChange = usePermission('schedules.write');
  const client = useQueryClient();
  const refreshSchedules = () => client.invalidateQueries({ queryKey: ['schedules'] });
  const setEnabled = async (on: boolean) => {
    try {
      await schedulesUpdate({ path: { id }, body: { enabled: on } });
      showToast(on ? `${name} is resumed.` : `${name} is paused.`, () => void setEnabled(!on));
    } catch (error) {
      showErrorToast(error, name);
    }
    await refreshSchedules();
  };
  const startDryRun = async () => {
    try {
      setTried(await schedulesExecute({ body: { scheduleId: id, dryRun: true, force: true } }));
    } catch (error) {
      showErrorToast(error, name);
    }
  };
  return (
    <>
      <ActionMenu
        name={name}
        actions={[
          mayChange &&
            (enabled
              ? { label: 'Pause', run: () => void setEnabled(false) }
              : { label: 'Resume', run: () => void setEnabled(true) }),
          mayChange && { label: 'Run now', run: () => setAsks(true) },
          mayChange && { label: 'Dry run', run: () => void startDryRun() },
          mayChange && { label: 'Delete', danger: true, run: () => setDeleting(true) },
        ]}
      />
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Run ${name} now?`}
        verb="Run now"
        act={async () => {
          const ticks = await schedulesExecute({ body: { scheduleId: id, force: true } });
          await refreshSchedules();
          showToast(`${name}: ${describeOutcome(ticks)}`);
        }}
      >
        This run is in addition to the scheduled times. If the machine is stopped, it is started for the run.
      </ConfirmDialog>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${name}?`}
        verb="Delete"
        act={async () => {
          await schedulesDelete({ path: { id }, query: { hard: 'true' } });
          await navigate({ to: '/schedules' });
          await refreshSchedules();
          showToast(`${name} is deleted.`);
        }}
      >
        The schedule and the history of its times are deleted permanently. “Pause” keeps both. Runs that the schedule
        launched stay.
      </ConfirmDialog>
      <Dialog open={tried !== null} onOpenChange={() => setTried(null)} title={`Dry run of ${name}`}>
        {tried && <p>{describeOutcome(tried)}</p>}
      </Dialog>
    </>
  );
}

/** Outcome of a run now or of a dry run, with the reason if the schedule was skipped. */
function describeOutcome({ dryRun, launched, skipped, failed }: ScheduleTicks): string {
  if (launched.length > 0) return dryRun ? 'A run would be launched now.' : 'A run was launched.';
  const [skip] = skipped;
  if (skip)
    return `${dryRun ? 'The run would be' : 'The run was'} skipped: ${describeSkipReason(skip.reason)} (${skip.reason})`;
  const [fault] = failed;
  return fault ? `The launch failed: ${fault.detail}` : 'No run was due.';
}

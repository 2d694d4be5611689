import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type Schedule,
  schedulesRead,
  schedulesUpdate,
  type JobTarget,
  type UpdateScheduleBody,
} from '../../api/generated';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { parseScheduleForm, ScheduleFields } from '../../parts/schedule/schedule-fields';
import { useVersionedSave } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { showToast } from '../../ui/toast';

const labels: { [K in keyof UpdateScheduleBody]: string } = {
  name: 'Name',
  scriptId: 'Workflow',
  agentId: 'Agent',
  cronExpression: 'Cron expression',
  timezone: 'Timezone',
  enabled: 'Enabled',
  variables: 'Variables',
  vaultKeys: 'Vault keys',
  maxRuntimeMinutes: 'Maximum run time in minutes',
  maxRetries: 'Retries',
  retryDelaySeconds: 'Seconds before a retry',
  concurrencyLimit: 'Runs at once',
  idempotencyWindowMinutes: 'Minutes between runs',
  misfirePolicy: 'Missed times',
  maxCostUsd: 'Cost limit per run',
  concurrencyKeys: 'Concurrency keys',
  accounts: 'Accounts',
};

type ScheduleChange = Omit<UpdateScheduleBody, 'target'> & { target?: JobTarget };

export function EditScheduleDialog({ schedule, close }: { schedule: Versioned<Schedule>; close: () => void }) {
  // The schedule at the time the form was opened.
  const [base] = useState(schedule);
  const client = useQueryClient();
  const path = { id: schedule.id };
  const { save, conflict } = useVersionedSave<Schedule, ScheduleChange>({
    read: () => readWithEtag((options) => schedulesRead({ ...options, path })),
    write: (body, ifMatch) =>
      readWithEtag((options) => schedulesUpdate({ ...options, path, body, headers: { 'If-Match': ifMatch } })),
    labels,
  });
  return (
    <Dialog open onOpenChange={close} title={`Edit ${base.name}`} wide>
      <Form
        submit="Save"
        onSubmit={(values) => save(parseScheduleForm(values), base)}
        onDone={async ({ current, isMine }) => {
          await client.invalidateQueries({ queryKey: ['schedules'] });
          close();
          showToast(isMine ? `${current.name} was saved.` : 'Your change was not saved.');
        }}
      >
        <ScheduleFields schedule={base} />
      </Form>
      {conflict}
    </Dialog>
  );
}

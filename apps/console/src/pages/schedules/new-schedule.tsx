import { schedulesCreate } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { parseScheduleForm, ScheduleFields } from '../../parts/schedule/schedule-fields';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { showToast } from '../../ui/toast';

interface NewScheduleProps {
  /** The workflow that the schedule launches, if it is known already. */
  workflow?: { id: string; name: string };
  open: boolean;
  onOpenChange: (open: boolean) => void;
  made: () => void;
}

export function NewScheduleDialog({ open, onOpenChange, ...form }: NewScheduleProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="New schedule" wide>
      <NewScheduleForm onOpenChange={onOpenChange} {...form} />
    </Dialog>
  );
}

/**
 * The form is mounted each time the dialog opens, so that submitting the same values again creates another schedule.
 */
function NewScheduleForm({ workflow, onOpenChange, made }: Omit<NewScheduleProps, 'open'>) {
  const keyOf = useIdempotencyKey();
  return (
    <Form
      submit="Create schedule"
      onSubmit={(values) => {
        const body = parseScheduleForm(values);
        return schedulesCreate({ body, headers: keyOf(body) });
      }}
      onDone={({ name }) => {
        onOpenChange(false);
        made();
        showToast(`${name} was created.`);
      }}
    >
      <ScheduleFields workflow={workflow} />
    </Form>
  );
}

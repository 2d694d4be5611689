import { useQueryClient } from '@tanstack/react-query';
import { versionsPublish, type WorkflowPack } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';

export function PublishDialog({ pack, close }: { pack: WorkflowPack; close: () => void }) {
  const keyOf = useIdempotencyKey();
  const client = useQueryClient();
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Publish the draft"
      description="The draft becomes the next version, in the stage draft. The version does not run until it is promoted and an installation is pinned to it."
    >
      <Form
        submit="Publish version"
        onSubmit={(values) => {
          const [label, notes] = [values.readText('label'), values.readText('notes')];
          const body = { ...(label ? { label } : {}), ...(notes ? { notes } : {}) };
          return versionsPublish({ path: { id: pack.id }, body, headers: keyOf(body) });
        }}
        onDone={async ({ number }) => {
          await client.invalidateQueries({ queryKey: ['packs'] });
          close();
          showToast(`Version ${number} was published.`);
        }}
      >
        <TextField label="Label" name="label" maxLength={200} placeholder="2024.6" autoComplete="off" />
        <TextField label="Notes" name="notes" hint="Changes in this version." autoComplete="off" />
      </Form>
    </Dialog>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { versionsPublish, type WorkflowPack } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { Form, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';

/** Publishes the draft. It asks for no confirmation, because no run uses a version before it is promoted and pinned. */
export function PublishForm({ pack }: { pack: WorkflowPack }) {
  const keyOf = useIdempotencyKey();
  const client = useQueryClient();
  return (
    <section aria-label="Publish the draft" className="mb-3 rounded-control bg-sunken p-3">
      <Form
        submit="Publish"
        onSubmit={(values) => {
          const [label, notes] = [values.readText('label'), values.readText('notes')];
          const body = { ...(label ? { label } : {}), ...(notes ? { notes } : {}) };
          return versionsPublish({ path: { id: pack.id }, body, headers: keyOf(body) });
        }}
        onDone={async ({ number }) => {
          await client.invalidateQueries({ queryKey: ['packs'] });
          showToast(`Version ${number} was published.`);
        }}
      >
        <p className="text-dim">
          The draft becomes the next version, in the stage draft. The version does not run until it is promoted and an
          installation is pinned to it.
        </p>
        <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
          <TextField label="Label" name="label" maxLength={200} placeholder="2024.6" autoComplete="off" />
          <TextField label="Notes" name="notes" placeholder="Changes in this version" autoComplete="off" />
        </div>
      </Form>
    </section>
  );
}
